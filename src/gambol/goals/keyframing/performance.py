"""A motion as one character performs it, with the contacts of whoever moved like that first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gambol.characters import Character
from gambol.motion import Motion
from gambol.motion.phases import Touch, Touching
from gambol.motion.settling import was_simulated


@dataclass(frozen=True)
class Performance:
    """A motion and what is touched in it; it may have been copied from a motion of another body, which touched that."""

    motion: Motion
    touching: Touching
    """Of the original."""

    @cached_property
    def name(self) -> str:
        """Who performs."""
        return self.motion.scene.main_character

    @property
    def character(self) -> Character:
        """The body that performs."""
        return self.motion.scene.characters[self.name]

    @cached_property
    def bodies(self) -> dict[str, str]:
        """The body of the performer that stands for each of the original, by full names."""
        original = self.touching.subject
        if original.motion is self.motion:
            return {name: name for name in (f"{self.name}/{body}" for body in self.character.bodies)}
        theirs, found = original.character, dict[str, str]()
        model = theirs.model
        shared = {mark.body: key for key, mark in theirs.landmarks.items() if key in self.character.landmarks}
        for index, body in enumerate(theirs.bodies, start=1):
            if body in shared:
                own = self.character.landmarks[shared[body]].body
            elif body in self.character.bodies:
                own = body
            else:
                parent = int(model.body_parentid[index])
                own = found[model.body(parent).name] if parent else self.character.bodies[0]
            found[body] = own
        return {f"{original.name}/{body}": f"{self.name}/{own}" for body, own in found.items()}

    def touches_at(self, frame: int) -> list[Touch]:
        """What the performer should touch at a frame; one body may stand for several."""
        found = (
            touch._replace(body=self.bodies[touch.body]) for touch in self.touching.at(frame) if self._counts(touch)
        )
        return list(dict.fromkeys(found))

    def _counts(self, touch: Touch) -> bool:
        """Whether a touch tells something about the pose.

        That a body touches itself does where physics says so, and where a limb rests on another part; its first body
        (thigh, upper arm) cannot go anywhere.
        """
        original = self.touching.subject
        if not touch.itself:
            return True
        if original.motion is not self.motion or not was_simulated(self.motion):
            return False
        model = self.motion.scene.model
        parent = model.body(int(model.body(touch.body).parentid[0])).name
        return self.part(touch.body) == self.part(parent) != self.part(touch.on)

    def part(self, full: str) -> str:
        """The part a body belongs to, by its full name."""
        body = full.removeprefix(f"{self.name}/")
        return self.character.part_of.get(body, body)

    def called(self, full: str) -> str:
        """A name as short as it can be."""
        alone = len(self.motion.scene.characters) == 1
        return full.removeprefix(f"{self.name}/") if alone else full
