"""How is a chip's arithmetic tried? Inputs drawn by number and the comparison, as C that is CUDA too."""
