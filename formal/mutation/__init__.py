"""Would the theorems notice a slip? Every integer and operator of every formula changed, one at a time."""
