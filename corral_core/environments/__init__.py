"""Starting points for authors of environments: bandits, episodic and finite MDPs, planning."""
