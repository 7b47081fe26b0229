"""Path lengths along the data: dissimilarities, neighborhood graphs, landmarks, scaling."""
