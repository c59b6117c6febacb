"""Starts that nothing carries: a lying body in a stiff pose touches the ground with its heels, if at all.

The optimisation begins at rest, so what hangs in the air at the beginning would have to fall first. A limp body that is
let down lies as bodies lie.
"""

from __future__ import annotations

import copy

import jax
import mujoco
import numpy as np

from gambol.cio import contact, dynamics, limbs
from gambol.cio.compiling import compiled
from gambol.cio.features import FeatureModel
from gambol.cio.kinematics import Basis, frames
from gambol.cio.surfaces import Surfaces
from gambol.rotations import Array
from gambol.scenes import Scene

_CARRIED = 0.1
"""Share of the weight, or of it times a metre, that may be unsupported in a pose that can be held."""
_NEAR = 0.01
"""Metres from a surface at which a patch bears."""
_VARIABLES = (2.0, -0.05)
"""Contact variables of what bears and of what does not: nearly free forces, and none that would help."""
_DURATION = 3.0
"""Seconds for which a limp body lies down."""
_DAMPING = 5.0
"""N m s of its joints at least, and per second of everything's velocity."""


def unsupported(model: FeatureModel, surfaces: Surfaces, features: Array) -> float:
    """What patches that touch something leave of the weight of a body that holds still (1 + L, 6)."""
    knots = np.stack([features, features, 0 * features, 0 * features])
    with jax.enable_x64(True):
        still = frames(Basis.at(np.array([0.5]), 2, 1.0), knots)
        still = limbs.with_middles(model.body.limbs, still)[1]
        touch = contact.touching(model.body, still, surfaces)
        bearing = np.where((touch.gaps**2).sum(-1) < _NEAR**2, *_VARIABLES)
        grabs = np.zeros(bearing.shape[1], bool)
        return float(np.linalg.norm(_forces(model.body, still, touch, bearing, np.array(1.0), grabs, None).residual))


_forces = compiled(dynamics.contact_forces)


def rested(scene: Scene, name: str, model: FeatureModel, surfaces: Surfaces, qpos: Array) -> Array:
    """The state (nq,) of a scene, with everything let down limply if nothing carries the character ``name``."""
    if unsupported(model, surfaces, model.features_of(qpos[scene.spans[name].qpos])) < _CARRIED:
        return qpos
    limp = copy.copy(scene.model)
    limp.actuator_gainprm[:] = limp.actuator_biasprm[:] = 0.0
    jointed = limp.jnt_type[limp.dof_jntid] == mujoco.mjtJoint.mjJNT_HINGE
    limp.dof_damping[jointed] = np.maximum(limp.dof_damping[jointed], _DAMPING)
    data = mujoco.MjData(limp)
    data.qpos[:] = qpos
    for _ in range(round(_DURATION / limp.opt.timestep)):
        mujoco.mj_step(limp, data)
        data.qvel *= 1.0 - _DAMPING * limp.opt.timestep
    return data.qpos.copy()
