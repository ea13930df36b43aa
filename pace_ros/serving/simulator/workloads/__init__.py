"""What is asked of simulated fleets: traces of real services, showroom dialogues, synthetic conversations."""
