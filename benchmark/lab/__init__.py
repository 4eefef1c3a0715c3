"""What studies are made of: reports, the lab that trains for them, and what several of them share."""
