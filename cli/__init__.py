"""How is each question asked on the command line? main finds the command; NAME_command.py is one command."""
