"""How does all of it look as pages? The specification as a static site, and what its scripts compute.

Read `files` (what a site is made of), `frame` (the page around every body), `sections/` (one module an area
of the site) and `site` (all of it, written whole). `scripts/` is JavaScript without modules, since a browser
loads none from a file:// address: each file adds its functions to the one name `ptxmma`. What scripts compute
with is data that the specification says (`data/*.js` of the site), formulas among them.
"""
