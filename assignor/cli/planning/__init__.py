"""Parts of ``plan``: a group of a given size, and the change between the classic and the streams protocol."""
