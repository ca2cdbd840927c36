"""What happens, in order: one module for each arrow of the picture in the README."""
