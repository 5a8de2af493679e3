"""What bases and environments that go by features share: several plugins build on it.

featured      a base that models rewards by the first d features, and its parameters
arms          upper confidence bounds of finitely many arms, and the best one
ridge         ridge regression in lockstep
packing       symmetric matrices as policies keep them
optimism      optimism over an ellipsoid around an estimate, with policies that rarely change
levels        going down levels of independent samples
contexts      environments whose contexts are drawn anew at every play
fixed_arms    environments whose arms keep their features
directions    random directions
"""
