import re

import skbound

project = "skbound"
author = "the skbound developers"
copyright = "2026, the skbound developers"
release = version = skbound.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_copybutton",
]
# No sphinx.ext.intersphinx: it reads inventories from the network, and builds must work without.

exclude_patterns = ["_build"]
templates_path = ["_templates"]
nitpicky = False

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's Parameters section has them
numpydoc_show_class_members = False  # the template lists them
numpydoc_xref_param_type = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "skbound"
html_show_sourcelink = False
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}


def skip_request_methods(app, what, name, obj, skip, options):
    """Leave out set_fit_request and the like: scikit-learn writes them into each estimator."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def setup(app):
    app.connect("autodoc-skip-member", skip_request_methods)
