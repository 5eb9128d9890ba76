"""Slips in worked solutions that change nothing that the exercise asks for, with their reason."""

# Of the class token and the table of positions, which two solutions of the capstone make in the same words.
OTHER_STARTS = [
    "self.class_token = nn.Parameter(0.02 / torch.randn(1, 1, hidden_dim))",
    "self.class_token = nn.Parameter(torch.randn(1, 1, hidden_dim))",
    "self.positions = nn.Parameter(0.02 / torch.randn(1, num_patches + 1, hidden_dim))",
    "self.positions = nn.Parameter(torch.randn(1, num_patches + 1, hidden_dim))",
    "self.class_token = nn.Parameter(0.04 * torch.randn(1, 1, hidden_dim))",
    "self.positions = nn.Parameter(0.04 * torch.randn(1, num_patches + 1, hidden_dim))",
]
# By exercise: why some slips change nothing, and these.
EQUIVALENT = {
    "start.sizes": {
        "the same whole number of patches": ["N = (385 // P) ** 2", "'patches_at_768': (769 // P) ** 2}"],
    },
    "start.removed": {
        "another measurement, as possible as this one": ["'without_attention': 0.02"],
    },
    "patchify.video": {
        "the two axes are joined again as they were cut": [
            "x = video.reshape(M // frames, B, frames, C, H // P, P, W // P, P)"
        ],
    },
    "patchify.pixel": {
        "the quotient is 1, a whole number, all the same": [
            "'times_the_products': few * 24 * 24 * 3 // (many * 8 * 8 * 3)}",
            "'times_the_products': many * 8 * 8 * 4 // (few * 24 * 24 * 3)}",
            "'times_the_products': many * 8 * 8 * 3 // (few * 24 * 24 * 2)}",
            "'times_the_products': many * 8 * 9 * 3 // (few * 24 * 24 * 3)}",
            "'times_the_products': many * 8 * 8 * 3 // (few * 24 * 23 * 3)}",
            "'times_the_products': many * 9 * 8 * 3 // (few * 24 * 24 * 3)}",
            "'times_the_products': many * 8 * 8 * 3 // (few * 23 * 24 * 3)}",
        ],
    },
    "patchify.embedding": {
        "the order of these two is no matter": [
            "moved: self.patch_size = patch_size",
            "moved: x = self.projection(images)",
        ],
        "both sides are looked at in one way": ["W, H = images.shape[2:]"],
    },
    "class_token.padded": {
        "True counts as 1": ["weights = real[:, :, None]", "weights = real[:, :, None].long()"],
    },
    "class_token.module": {
        "how a parameter starts is left to the learner": [
            "self.token = nn.Parameter(0.02 / torch.randn(1, 1, hidden_dim))",
            "self.token = nn.Parameter(torch.randn(1, 1, hidden_dim))",
            "self.token = nn.Parameter(0.04 * torch.randn(1, 1, hidden_dim))",
        ],
        "1 is the length that this axis has": ["class_token = self.token.expand(len(x), 1, -1)"],
    },
    "positions.shuffle": {
        "half of it, rounded down, is 12 too": ["'class_outputs': 25 // 2}"],
    },
    "positions.reads_order": {
        "as good as twenty orders": ["for _ in range(21):", "for _ in range(19):"],
        "the text leaves the threshold between rounding and 0.001": [
            "if (encoder(shuffled)[0, 0] - before).abs().max() >= 0.0001:",
            "if (encoder(shuffled)[0, 0] - before).abs().max() > 0.0002:",
        ],
        "a batch of one: the first is the last": [
            "before = encoder(tokens)[-1, 0]",
            "if (encoder(shuffled)[-1, 0] - before).abs().max() > 0.0001:",
        ],
        "an absolute difference": ["if (before - encoder(shuffled)[0, 0]).abs().max() > 0.0001:"],
    },
    "positions.mended": {
        "1 is the length that this axis has": ["class_tokens = class_token.expand(len(patch_tokens), 1, -1)"],
    },
    "positions.patch_sizes": {
        "another measurement, as possible as this one": [
            "'none': {4: [0.958, 0.96, 0.948], 2: [0.655, 0.675, 0.662], 1: [0.217, 0.406, 0.233]}"
        ],
        "of the runs two are made again, and not this one": ["return {'seeds': [0, 1, 3]"],
    },
    "attention.weights": {
        "4 axes: 2 and -2 are one": ["scores = q @ k.transpose(2, -1) / q.shape[-1] ** 0.5"],
        "queries and keys are as long as each other": ["scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5"],
    },
    "attention.mended": {
        "4 axes: 2 and -2 are one": ["scores = q @ k.transpose(2, -1) / q.shape[-1] ** 0.5"],
        "queries and keys are as long as each other": ["scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5"],
    },
    "encoder.drop_branch": {
        "the order of these two is no matter": [
            "moved: self.p = p",
            "moved: kept = torch.rand(len(branch), 1, 1) >= self.p",
        ],
        "a random number is hardly ever p itself": ["kept = torch.rand(len(branch), 1, 1) > self.p"],
    },
    "encoder.stack": {
        "the text says nothing of epsilon": [
            "self.norm = nn.LayerNorm(hidden_dim)",
            "self.norm = nn.LayerNorm(hidden_dim, eps=2e-06)",
        ],
    },
    "encoder.warm_up": {
        "another measurement, as possible as this one": [
            "'without': [1.56, 1.49, 0.8]",
            "'without': [0.78, 2.98, 0.8]",
            "'without': [0.78, 1.49, 1.6]",
        ],
        "of the runs one is made again, and not this one": ["return {'seeds': [0, 1, 3]"],
    },
    "vit.predicted": {
        "the same whole number of patches": [
            "tokens = 49 // 8 * (32 // 8) + 1",
            "tokens = 48 // 7 * (32 // 8) + 1",
            "tokens = 48 // 8 * (33 // 8) + 1",
            "tokens = 48 // 8 * (32 // 7) + 1",
        ],
    },
    "vit.independent": {
        "the order of these two is no matter": [
            "together = model(images) | alone = torch.cat([model(image[None]) for image in images])"
        ],
        "which of the two is compared with which hardly matters": [
            "return torch.allclose(together, alone, rtol=0.0001, atol=1e-05)"
        ],
        "how much rounding is allowed is left to the learner": [
            "return torch.allclose(alone, together, atol=1e-05)",
            "return torch.allclose(alone, together, rtol=0.0001)",
            "return torch.allclose(alone, together, rtol=0.0002, atol=1e-05)",
            "return torch.allclose(alone, together, rtol=0.0001, atol=2e-05)",
        ],
    },
    "vit.large_head": {
        "another measurement, as possible as this one": [
            "'large': [2.26, 1.48, 1.57]",
            "'large': [1.13, 2.96, 1.57]",
            "'large': [1.13, 1.48, 3.14]",
        ],
    },
    "training.accuracy": {
        "the order of these two is no matter": ["moved: correct = total = 0", "moved: total += len(labels)"],
        "a tensor of one number is taken for the number": ["correct += (answers == labels).sum()"],
        "the images of a batch, its labels and its answers are as many": [
            "total += len(images)",
            "total += len(answers)",
        ],
    },
    "training.step": {
        "the order of these two is no matter": ["moved: optimiser.zero_grad()"],
    },
    "training.groups": {
        "the order of these two is no matter": [
            "moved: rest = [p for p in model.parameters() if id(p) not in matrices]"
        ],
        "the order of the groups is no matter": [
            "return [{'params': rest | 'weight_decay': 0.0}, {'params': decay | 'weight_decay': weight_decay}]"
        ],
    },
    "maps.class_map": {
        "no gradient is asked for, and float64 is what NumPy gives": [
            "return last[:, 0, 1:].unflatten(-1, grid).double()"
        ],
        "2 axes are left: 1 and -1 are one": ["return last[:, 0, 1:].unflatten(1, grid)"],
    },
    "maps.rollout": {
        "no gradient is asked for, and float64 is what NumPy gives": ["return flow.double()"],
        "a map is square: its last two axes are alike": ["flow = identity = torch.eye(maps.shape[-2])"],
        "2 axes: 1 and -1 are one": ["flow = matrix / matrix.sum(dim=1, keepdim=True) @ flow"],
    },
    "evidence.score": {
        "no gradient is asked for, and float64 is what NumPy gives": [
            "return ((weights * covered).sum(dim=1) / weights.sum(dim=1)).double()"
        ],
    },
    "evidence.held_out": {
        "no gradient is asked for, and float64 is what NumPy gives": ["return scores.gather(1, head)[:, 0].double()"],
        "a single row: the first is the last": ["return scores.gather(1, head)[:, -1]"],
    },
    "pretrained.jax": {
        "no gradient is asked for, and float64 is what NumPy gives": [
            "return torch.cat([part.T if part.ndim == 2 else part for part in parts]).double()"
        ],
    },
    "pretrained.mended": {
        "a key of torchvision's has one key of ours": [
            "found = {key: state[libraries.TORCHVISION.keys(key)[-1]] for key in model.state_dict()}"
        ],
    },
    "pretrained.blocks": {
        "another measurement, as possible as this one": [
            "overlaps = {2: [0.67, 0.78, 0.35], 5: [0.71, 0.4, 0.44], 8: [0.86, 0.57, 0.61], 11: [0.93, 0.85, 0.94]}",
            "overlaps = {2: [0.67, 0.39, 0.7], 5: [0.71, 0.4, 0.44], 8: [0.86, 0.57, 0.61], 11: [0.93, 0.85, 0.94]}",
            "overlaps = {2: [0.67, 0.39, 0.35], 5: [0.71, 0.8, 0.44], 8: [0.86, 0.57, 0.61], 11: [0.93, 0.85, 0.94]}",
            "overlaps = {2: [0.67, 0.39, 0.35], 5: [0.71, 0.4, 0.88], 8: [0.86, 0.57, 0.61], 11: [0.93, 0.85, 0.94]}",
        ],
    },
    "further.gradient": {
        "no gradient is asked for, and float64 is what NumPy gives": [
            "return (sums.sum(dim=0) / counts.sum()).double()"
        ],
    },
    "further.parts": {
        "the order of these two is no matter": ["moved: total = 0.0", "moved: total += loss.item()"],
        "as many parts of both": [
            "for x, y in zip(images.chunk(parts), labels.chunk(parts)):",
            "for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=False):",
        ],
        "the images of a batch, its labels and its answers are as many": [
            "loss = F.cross_entropy(model(x), y, reduction='sum') / len(labels)"
        ],
    },
    "capstone.patches": {
        "the order of these two is no matter": ["moved: self.patch_size = patch_size", "moved: x = self.cut(images)"],
        "both sides are looked at in one way": ["width, height = images.shape[2:]"],
    },
    "capstone.tokens": {
        "a learned table can have either sign": ["return torch.cat([class_token, x], dim=1) - self.positions"],
        "how a parameter starts is left to the learner": OTHER_STARTS,
        "1 is the length that this axis has": ["class_token = self.class_token.expand(len(x), 1, -1)"],
    },
    "capstone.attention": {
        "the order of these two is no matter": ["moved: self.num_heads = num_heads"],
        "which third of a learned matrix makes which is left to the learner": [
            "k, q, v = parts.permute(2, 0, 3, 1, 4)",
            "q, v, k = parts.permute(2, 0, 3, 1, 4)",
        ],
        "4 axes: 2 and -2 are one": ["weights = (q @ k.transpose(2, -1) / q.shape[-1] ** 0.5).softmax(dim=-1)"],
        "queries and keys are as long as each other": [
            "weights = (q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5).softmax(dim=-1)"
        ],
    },
    "capstone.block": {
        "two fresh norms are alike": ["self.norm2, self.norm1 = (nn.LayerNorm(hidden_dim), nn.LayerNorm(hidden_dim))"],
        "the weights are not used": [
            "x = x + self.attention(z, z, z)[0]",
            "x = x + self.attention(z, z, z, need_weights=True)[0]",
        ],
    },
    "capstone.vit": {
        "the order of these two is no matter": [
            "moved: num_patches = image_size[0] // patch_size * (image_size[1] // patch_size)"
        ],
        "how a parameter starts is left to the learner": OTHER_STARTS,
        "dropout does nothing in eval mode, where models are compared": [
            "self.blocks = nn.ModuleList((nn.TransformerEncoderLayer(hidden_dim, num_heads, mlp_dim, activation='gelu', batch_first=True, norm_first=True) for _ in range(num_layers)))"  # noqa: E501
        ],
        "1 is the length that this axis has": ["x = torch.cat([self.class_token.expand(len(x), 1, -1), x], dim=1)"],
        "the images of a batch, its labels and its answers are as many": [
            "x = torch.cat([self.class_token.expand(len(images), -1, -1), x], dim=1)"
        ],
    },
}
