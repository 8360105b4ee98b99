"""Random firms and lawyers on the whole application: nobody is shown, or can tell, what is somebody else's."""
