"""Parts of the suite `checking`: prose with places, ways to make it wrong, and scores."""
