"""Citations in an answer: finding the markers, keeping foreign ones out, and checking what they quote."""
