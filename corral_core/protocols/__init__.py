"""What authors write: bases, environments and meta-algorithms, and what passes between them."""
