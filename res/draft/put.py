"""Chapters 07 and 12 after the table has its nine rows more. Run at the top of the repository; then tests/regenerate.py 07 and that of Further (11 or 12)."""
import csv, json, pathlib
rows = list(csv.DictReader(open("res/ablation/cifar10.csv")))
runs = {}
for r in rows: runs.setdefault(r["variant"], []).append(100*float(r["validation_accuracy"]))
mean = lambda v: sum(v)/len(v)
full = runs["full recipe"]
lost = {}
for name in ("with RandAugment", "with mixup", "with both"):
    v = runs[name]; assert len(v) == 3
    print(name, f"{mean(v):.2f} ({min(v):.2f} to {max(v):.2f})  {mean(v)-mean(full):+.2f}", "clear" if max(v)<min(full) or min(v)>max(full) else "not clear")
    assert max(v) < min(full), "not clearly below: write other words"
    lost[name] = mean(full) - mean(v)
(FURTHER,) = pathlib.Path("notebooks").glob("*_further.ipynb"); N = FURTHER.name[:2]
def load(p): return json.loads(pathlib.Path(p).read_text())
def save(p, nb): pathlib.Path(p).write_text(json.dumps(nb, indent=1, ensure_ascii=False) + "\n")
def swap(nb, ident, *pairs):
    (cell,) = [c for c in nb["cells"] if c["id"] == ident]
    s = "".join(cell["source"])
    for a, b in pairs:
        assert s.count(a) == 1, (ident, a, s.count(a)); s = s.replace(a, b)
    cell["source"] = s.splitlines(keepends=True)
p = "notebooks/07_training.ipynb"; nb = load(p)
(cell,) = [c for c in nb["cells"] if c["id"] == "07-42-f3948d"]
cell["source"] = ("".join(cell["source"]) + '''
print("\\nshort runs, three seeds: mean validation accuracy, lowest and highest")
with stored("ablation/cifar10.csv").open() as file:
    short_runs = list(csv.DictReader(file))
for name in ("full recipe", "with RandAugment", "with mixup", "with both"):
    found = [float(r["validation_accuracy"]) for r in short_runs if r["variant"] == name]
    print(f"{name:16} {sum(found) / len(found):.1%} ({min(found):.1%} to {max(found):.1%})")
''').rstrip("\n").splitlines(keepends=True)
swap(nb, "07-43-334d39", ("\n\n**Which photographs does it get wrong?**", f'''

**RandAugment and mixup** are two more augmentations for photographs. RandAugment ([Cubuk et al. 2019](https://arxiv.org/abs/1909.13719)) applies to each image two operations drawn at random, such as a rotation or more contrast. Mixup ([Zhang et al. 2017](https://arxiv.org/abs/1710.09412)) blends each image with another and asks for both labels in the same proportion. In a recipe they are `randaugment = 9` and `mixup = 1.0`. The last four lines above Figure 11 are the same recipe cut to 6 epochs on 20,000 images (chapter {N} has the whole table): RandAugment costs {lost["with RandAugment"]:.1f} points, mixup {lost["with mixup"]:.1f}, both {lost["with both"]:.1f}, and every run with them is below every run without. But short runs favour weak augmentation: such a model has learned nothing by heart yet, so harder images only slow it down. What the two do in 100 epochs, or at other strengths, is not measured here.

**Which photographs does it get wrong?**'''))
save(p, nb)
p = str(FURTHER); nb = load(p)
# chapter 12 as it is after the branch ch12
swap(nb, "12-table-after", ("at a time: 36 runs,", "at a time: 45 runs,"), ("Four ingredients need a word.", "Four ingredients need a word; the last three rows add RandAugment and mixup (chapter 07, *Deeper*)."))
swap(nb, "12-07-paint", ("Three dots for each of twelve recipes: AdamW far left, three rows right of the band, others on it", "Three dots for each of fifteen recipes: four left of the band, three right of it, the others on it"))
swap(nb, "12-08-651ec2", ("One row is far below the full recipe, three are clearly above it.", "Four rows are clearly below the full recipe (AdamW and the last three), three above it."))
save(p, nb)
