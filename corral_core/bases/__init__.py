"""Starting points for authors of bases: lifted Python learners, and policies that many bases share."""
