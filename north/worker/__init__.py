"""Jobs that run beside the surfaces."""
