"""Embed new points with t-SNE, and go back: both maps for an embedding that has none."""

from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.model_selection import train_test_split

from twofold import KernelDensityClassifier, TwoWay

X, y = load_digits(n_class=5, return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.1, random_state=0)

model = TwoWay(TSNE(random_state=0), random_state=0).fit(X)
print("maps chosen by held-out error: up", model.up_, "down", model.down_)
print(f"variance kept on new digits: {model.score(X_new):.3f}")

Z_new = model.transform(X_new)
classifier = KernelDensityClassifier().fit(model.embedding_, y)
print(f"accuracy of the latent density classifier: {classifier.score(Z_new, y_new):.3f}")

strange = X_new[:5][:, ::-1]  # turned upside down and mirrored
print("distance to the manifold, usual: ", model.reconstruction_error(X_new[:5]).round(1))
print("distance to the manifold, strange:", model.reconstruction_error(strange).round(1))
