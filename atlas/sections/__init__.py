"""One module an area of the site; `made` gives its pages and data."""
