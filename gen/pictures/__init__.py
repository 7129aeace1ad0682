"""How does a layout look, as text, SVG, CuTe or index functions?

tables has the map that all of them show. grid makes cells of it; text, svg and exports draw them.
"""
