"""Building blocks for bases and environments with features, shared by several plugins.

featured      a base that models rewards by the first d features, and its parameters
arms          upper confidence bounds of finitely many arms, and the best arm
ridge         ridge regression in lockstep
packing       symmetric matrices as policies store them
optimism      optimism over an ellipsoid around an estimate, with rare policy changes
levels        algorithms that go down levels of independent samples
contexts      environments that draw new contexts at every play
fixed_arms    environments whose arms keep their features
directions    random directions
"""
