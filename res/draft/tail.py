SUMMARY = '''
## Summary

An image without a label still asks questions that have answers. A masked autoencoder hides most patches and guesses them: the encoder sees the visible ones only, which makes it cheap, and the decoder is thrown away. In self-distillation, a student gives the answer that its own moving average gives for another view. Two things keep the answers from becoming all the same, centring and sharpening; without either, they collapse, each time in another way. Whether such a model learned something is measured with a linear classifier on its features, next to the same network with random weights.
'''
NEXT = '''
## Read next

- The papers: [He et al. 2021](https://arxiv.org/abs/2111.06377), Table 1 and Fig. 5 for what was tried; [Caron et al. 2021](https://arxiv.org/abs/2104.14294), section 5 on what avoids collapse.
- The same parts elsewhere: [the authors' masked autoencoder](https://github.com/facebookresearch/mae/blob/main/models_mae.py), [Hugging Face's ViTMAE](https://github.com/huggingface/transformers/blob/main/src/transformers/models/vit_mae/modeling_vit_mae.py), [the loss of DINO](https://github.com/facebookresearch/dino/blob/main/main_dino.py), [the losses of DINOv2](https://github.com/facebookresearch/dinov2/tree/main/dinov2/loss).
- Two things to read: [DINOv2](https://arxiv.org/abs/2304.07193) (Oquab et al. 2023), section 6 on what each addition brings; [V-JEPA](https://arxiv.org/abs/2404.08471) (Bardes et al. 2024), which guesses features of hidden patches, not pixels.

Previous: [10 Pretrained](10_pretrained.ipynb). Next: [12 Further](12_further.ipynb).
'''
def notebook():
    cells = []
    def add(kind, id, meta, text):
        cell = {"cell_type": kind, "id": id, "metadata": meta, "source": text.strip("\n").splitlines(keepends=True)}
        if kind == "code": cell |= {"execution_count": None, "outputs": []}
        cells.append(cell)
    for one in CELLS: add(*one)
    add("markdown", "11-exercises", {}, EXERCISES_INTRO)
    for number in (1, 2):
        for cell in json.load(open(f"res/draft/ch11_ex_{number}.json")):
            source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            add(cell["cell_type"], cell["id"], cell["metadata"], source)
    add("markdown", "11-summary", {}, SUMMARY)
    add("markdown", "11-next", {}, NEXT)
    meta = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}, "language_info": {"name": "python"}, "vit_course": {"run_minutes": 1}}
    return {"cells": cells, "metadata": meta, "nbformat": 4, "nbformat_minor": 5}
EXERCISES_INTRO = "## Exercises"
if __name__ == "__main__":
    Path("./notebooks/11_without_labels.ipynb").write_text(json.dumps(notebook(), indent=1, ensure_ascii=False) + "\n")
