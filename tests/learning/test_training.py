"""Models learn what is there to be learned, and nothing where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from morello.learning.corpus import CorpusError, Group
from morello.learning.dataset import Dataset, dataset, tau
from morello.learning.evaluation import SPLITS, SURE, evaluate
from morello.learning.refitting import refit, refitted
from morello.learning.training import LEARNERS, LearningError, train
from morello.ranking.features import SCHEMA
from morello.ranking.files import model_of
from morello.ranking.model import rows_of
from morello.ranking.network import Network
from morello.ranking.rank import ranking
from morello.ranking.trees import Trees
from morello.records import replace
from morello.search.search import Progress

TREES = (Trees.kind,)


@pytest.fixture(params=list(LEARNERS))
def learner(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name == Network.kind:
        pytest.importorskip("torch")
    return name


@pytest.fixture(scope="module")
def groups() -> list[Group]:
    from tests.learning.groups import group  # noqa: PLC0415

    return [group(number, noise=0.005) for number in range(16)]


def test_a_model_finds_what_makes_programs_slow(groups: list[Group], learner: str) -> None:
    """Half of the programs are slower by a factor; the model says which, and by how much."""
    model = train(groups[:12], learner)
    for group in groups[12:]:
        described = [program.description for program in group.programs]
        found = ranking(model, described, [p.predicted for p in group.programs])
        assert group.programs[found.chosen].features["slow"] == 0
        expected = [p.cycles / group.programs[0].cycles for p in group.programs]
        assert np.allclose(found.ratios, expected, rtol=0.1)
    assert (model.about.target, model.about.goals, model.about.programs) == ("x86.scalar", 12, 144)
    assert train(groups[:12], learner).digest == model.digest
    assert model_of(model.bytes, "it").digest == model.digest


def test_trees_are_evaluated_as_the_library_does(groups: list[Group]) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    kept = []

    original = lightgbm.train

    def keep(*arguments: object) -> object:
        kept.append(original(*arguments))
        return kept[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lightgbm, "train", keep)
        model = train(groups, Trees.kind)
    data = dataset(groups)
    goal = data.goals[3]
    rows = np.hstack([goal.rows, goal.rows - goal.rows[:1]])
    ours = model.corrections(goal.described)
    theirs = np.array([booster.predict(rows) for booster in kept])
    assert np.allclose(ours, theirs, atol=1e-5)
    assert set(model.columns) <= {*data.columns, *(f"less first: {c}" for c in data.columns)}
    assert rows_of(goal.described, model.columns).shape == (12, len(model.columns))


def test_a_corpus_that_says_nothing_is_refused(groups: list[Group]) -> None:
    with pytest.raises(LearningError, match="cannot learn from 1 goals"):
        train(groups[:1], Trees.kind)
    other = replace(groups[1], processor="another")
    with pytest.raises(LearningError, match="one model is for one target and processor"):
        train([groups[0], other], Trees.kind)
    dearer = replace(groups[1], coefficients={"a": 3.0})
    with pytest.raises(LearningError, match="several costs of the target"):
        train([groups[0], dearer], Trees.kind)
    with pytest.raises(CorpusError, match="features of another version"):
        train([replace(groups[0], schema=SCHEMA + 1), groups[1]], Trees.kind)


@pytest.mark.parametrize("split", ["goal", "held-out", "operator", "size"])
def test_evaluation_ranks_methods_as_they_are(
    split: str, groups: list[Group], learner: str
) -> None:
    """What is to be learned is, and what is known of the measurement is the best."""
    if split == "operator":
        groups = [replace(g, name=f"some{n % 4}") for n, g in enumerate(groups)]
    steps: list[Progress] = []
    found = evaluate(groups, split, [learner], steps.append)
    assert len(steps) == {"goal": 5, "operator": 4}.get(split, 1)
    rows = {method: found.row(method) for method in found.judged}
    assert rows["affine"]["first"] > 0.5
    assert rows[learner + SURE]["first"] < 0.03
    assert rows[learner]["tau"] > rows["affine"]["tau"] + 0.2
    assert rows["ceiling"]["tau"] >= rows[learner]["tau"] - 0.1
    assert rows[learner + SURE]["worse"] == 0
    assert rows[learner + SURE]["better"] == 1
    assert rows[learner]["eight"] <= rows["affine"]["eight"] < 0.1
    low, high = found.gained(learner + SURE)
    assert 0.5 < low <= high < 0.8
    assert len(found.goals) == {"held-out": 4, "size": 8}.get(split, 16)


def test_shuffled_times_teach_nothing(groups: list[Group], learner: str) -> None:
    """Where times belong to other programs, nothing is gained for sure."""
    random = np.random.default_rng(1)
    shuffled = []
    for group in groups:
        order = random.permutation(len(group.programs))
        programs = [
            replace(program, runs=group.programs[other].runs)
            for program, other in zip(group.programs, order, strict=True)
        ]
        shuffled.append(replace(group, programs=tuple(programs)))
    low, _ = evaluate(shuffled, "goal", [learner]).gained(learner + SURE)
    assert low <= 0


def test_ensembles_may_end_early() -> None:
    """Where a goal has most of the programs, some have nothing to split."""
    from tests.learning.groups import group  # noqa: PLC0415

    groups = [group(0, programs=20), *(group(number, programs=3) for number in range(1, 6))]
    model = train(groups, Trees.kind)
    assert isinstance(model, Trees)
    assert model.roots.ndim == 2
    assert np.isfinite(model.corrections([p.description for p in groups[0].programs])).all()


def test_a_goal_is_never_on_both_sides(groups: list[Group]) -> None:
    """Also where two compilers measured it."""
    twice = dataset([*groups, *(replace(g, compiler="another") for g in groups)])
    judged: list[int] = []
    for known, others in SPLITS["goal"](twice):
        sides = [{str(twice.goals[place].group) for place in side} for side in (known, others)]
        assert not sides[0] & sides[1]
        judged += others
    assert sorted(judged) == list(range(32))


def test_machines_are_judged_one_by_one(groups: list[Group]) -> None:
    machines = [replace(g, processor=f"processor {n % 3}") for n, g in enumerate(groups)]
    found = evaluate(machines, "machine", TREES)
    assert len(found.goals) == 16
    assert found.row(Trees.kind + SURE)["first"] < 0.03


def test_a_split_without_two_parts_is_refused(groups: list[Group]) -> None:
    with pytest.raises(LearningError, match="no two parts to split by machine"):
        evaluate(groups, "machine", TREES)
    from tests.learning.groups import group  # noqa: PLC0415

    noise = [group(number, noise=0.5, slow=0.0) for number in range(6)]
    kept = [g for g in dataset(noise).goals if not g.rankable]
    with pytest.raises(LearningError, match="whose runs agree"):
        evaluate([goal.group for goal in kept], "goal", TREES)
    assert len(SPLITS) == 5


def test_coefficients_are_refitted(groups: list[Group]) -> None:
    """All programs take twice what one coefficient says: it is doubled."""
    twice = [
        replace(
            g, programs=tuple(replace(p, runs=((2 * p.predicted,) * 3,) * 2) for p in g.programs)
        )
        for g in groups
    ]
    data = dataset(twice)
    ratios = refit(Dataset(data.columns, data.goals))
    assert ratios[data.columns.index("coefficient:a")] == pytest.approx(2, rel=0.01)
    assert np.count_nonzero(ratios) == 1
    assert np.allclose(refitted(data.goals[0].rows, ratios), np.log(2), atol=0.01)


def test_tau_is_kendalls() -> None:
    """By hand: with ties as tau-b has them."""
    assert tau(np.array([1, 2, 3, 4.0]), np.array([10, 20, 30, 40.0])) == 1
    assert tau(np.array([1, 2, 3, 4.0]), np.array([4, 3, 2, 1.0])) == -1
    assert tau(np.array([1, 2, 3.0]), np.array([1, 3, 2.0])) == pytest.approx(1 / 3)
    assert tau(np.array([1, 1, 2.0]), np.array([1, 2, 3.0])) == pytest.approx(2 / np.sqrt(6))
    assert tau(np.array([1, 1, 1.0]), np.array([1, 2, 3.0])) == 0
