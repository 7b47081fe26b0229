"""Settings of Sphinx: ``sphinx-build -W --keep-going -b html docs docs/_build/html``.

Neither the build nor the pages load anything from the network: there is no intersphinx, the theme
has its own fonts and scripts, and ``sphinx-mathjax-offline`` copies MathJax beside the pages.
"""

import inspect
import os
import re
from pathlib import Path

from sphinx.ext import autosummary

import twofold

project = "twofold"
author = "The twofold developers"
copyright = author
version = release = twofold.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # after sphinx.ext.mathjax, whose path it sets
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.json"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
# `twofold.load` in a docstring is a link, and plain code where there is nothing to link to.
default_role = "py:obj"
nitpicky = False

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# The reference. A summary is a docstring's first sentence, which does not end in "Eq. (7)".
autosummary.WELL_KNOWN_ABBREVIATIONS += ("Eq.", "Eqs.", "Fig.")
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"  # the docstrings say it, with shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template of a class lists its methods
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

# The gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"__init__\.py",
    "subsection_order": ["../examples/estimators", "../examples/tasks", "*"],
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("twofold",),
    "backreferences_dir": None,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,  # those pages load scripts from elsewhere
    "show_signature": False,
    "min_reported_time": 0,
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "abort_on_example_error": False,
    "capture_repr": ("_repr_html_", "__repr__"),
}

# The pages
html_theme = "pydata_sphinx_theme"
html_title = "twofold"
html_static_path = ["_static"]
html_css_files = ["twofold.css"]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "twofold"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 5,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "use_edit_page_button": False,
}
html_sidebars = {
    page: []
    for page in (
        "index",
        "tutorial",
        "coming-from",
        "command-line",
        "dask",
        "building-blocks",
        "rivals",
        "measured",
        "reproduce",
        "changelog",
    )
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def _is_ours(member):
    """Return whether a member of a class is ours, not from scikit-learn, enum or typing."""
    member = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "__func__", member))
    return (getattr(member, "__module__", None) or "twofold").startswith("twofold")


def _skip_foreign_members(app, what, name, member, skip, options):  # noqa: ARG001 - Sphinx's signature
    """Leave inherited methods out that other packages document, with links into their own pages."""
    return True if what == "class" and not _is_ours(member) else None


def _escape_types(app, what, name, obj, options, lines):  # noqa: ARG001 - Sphinx's signature
    """Keep ``n_iter_`` in "ndarray of shape (n_iter_,)" from being a link."""
    for number, line in enumerate(lines):
        entry, colon, kind = line.partition(" : ")
        if colon and "`" not in kind and re.fullmatch(r"[\w, *]+", entry.strip()):
            lines[number] = entry + colon + re.sub(r"(?<=\w)_(?!\w)", r"\\_", kind)


def _name_files_outside(app, docname, source):
    """Name files of the repository that no page is made of, where a page links to them."""
    docs = Path(app.srcdir)

    def name(link):
        target = Path(os.path.normpath((docs / docname).parent / link[2]))
        if target.is_relative_to(docs) or not target.is_relative_to(docs.parent):
            return link[0]
        return f"{link[1]} (`{target.relative_to(docs.parent).as_posix()}`)"

    source[0] = re.sub(r"\[([^\]]+)\]\((\.\./[^)#]+)\)", name, source[0])


def setup(app):
    """Connect what Sphinx calls."""
    app.connect("source-read", _name_files_outside)
    app.connect("autodoc-skip-member", _skip_foreign_members)
    app.connect("autodoc-process-docstring", _escape_types, priority=400)  # before numpydoc's
