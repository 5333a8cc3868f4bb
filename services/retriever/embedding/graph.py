"""multilingual-e5-small as an ONNX graph for onnxruntime, its matrices in 8-bit integers.

The graph takes the sum of word, position and type embeddings [1, length, hidden] and gives the last hidden
states in the same shape: post-norm transformer layers of BERT (Devlin et al. 2019). Inputs of matrix products are
quantised as they come (one scale for each), weights once, with a scale for each output.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from retriever.embedding.weights import Weights

if TYPE_CHECKING:
    from onnx import ModelProto

# 64 and not 127: without VNNI, processors add pairs of products in 16 bits, which larger weights overflow.
_GREATEST_WEIGHT = 64
_MICROSOFT = "com.microsoft"


def graph(weights: Weights) -> bytes:
    """The graph as a file of ONNX; raises ImportError."""
    return bytes(_Builder(weights).model().SerializeToString())


class _Builder:
    """Collects nodes and constants; methods that add a node return its output's name."""

    def __init__(self, weights: Weights) -> None:
        from onnx import helper, numpy_helper  # noqa: PLC0415 - 60 MB, for the first start only

        self._helper, self._numpy = helper, numpy_helper
        self._weights = weights
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> "ModelProto":
        last = self._norm("summed", "emb.ln")
        for layer in range(self._weights.layers):
            last = self._layer(last, f"l{layer}.")
        ends = [
            self._helper.make_tensor_value_info(name, 1, [1, "length", self._weights.hidden])
            for name in ("summed", last)
        ]
        graph = self._helper.make_graph(self._nodes, "e5", ends[:1], ends[1:], self._constants)
        versions = [self._helper.make_opsetid("", 18), self._helper.make_opsetid(_MICROSOFT, 1)]
        return self._helper.make_model(graph, opset_imports=versions, ir_version=9)

    def _layer(self, states: str, prefix: str) -> str:
        hidden, inner = self._weights.hidden, self._weights.inner
        mixed = self._linear(states, [prefix + part for part in "qkv"], hidden)
        parts = [prefix + part for part in ("queries", "keys", "values")]
        self._add("Split", [mixed], parts, axis=-1, num_outputs=3)
        heads = self._weights.heads
        attended = self._add("MultiHeadAttention", parts, [prefix + "attended"], domain=_MICROSOFT, num_heads=heads)
        attended = self._linear(attended, [prefix + "ao"], hidden)
        states = self._norm(self._add("Add", [states, attended], [prefix + "first"]), prefix + "aln")
        grown = self._linear(states, [prefix + "fi"], hidden)
        # By a hyperbolic tangent, in half the time: what that changes is far below what quantising does.
        grown = self._add("FastGelu", [grown], [prefix + "grown"], domain=_MICROSOFT)
        shrunk = self._linear(grown, [prefix + "fo"], inner)
        return self._norm(self._add("Add", [states, shrunk], [prefix + "second"]), prefix + "oln")

    def _linear(self, states: str, names: list[str], columns: int) -> str:
        """The product with one matrix, or several side by side, plus bias."""
        matrix = np.concatenate([self._weights.matrix(f"{name}.w", columns) for name in names])
        bias = np.concatenate([self._weights.vector(f"{name}.b") for name in names])
        integers, scales = quantise(matrix)
        out = names[-1]
        inputs = [
            states,
            self._constant(f"{out}.integers", integers.T),
            self._constant(f"{out}.scales", scales),
            "",  # no zero point
            self._constant(f"{out}.bias", bias),
        ]
        return self._add("DynamicQuantizeMatMul", inputs, [f"{out}.product"], domain=_MICROSOFT)

    def _norm(self, states: str, name: str) -> str:
        """Layer normalisation, in three steps: onnxruntime's operator for all of it takes three times as long."""
        factors, terms = (self._constant(f"{name}.{part}", self._weights.vector(f"{name}.{part}")) for part in "wb")
        even = self._add("MeanVarianceNormalization", [states], [f"{name}.even"], axes=[-1])
        scaled = self._add("Mul", [even, factors], [f"{name}.scaled"])
        return self._add("Add", [scaled, terms], [f"{name}.normed"])

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        self._constants.append(self._numpy.from_array(np.ascontiguousarray(value), name))
        return name

    def _add(self, operator: str, inputs: list[str], outputs: list[str], **attributes: Any) -> str:
        self._nodes.append(self._helper.make_node(operator, inputs, outputs, **attributes))
        return outputs[0]


def quantise(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Integers [rows, columns] and a scale for each row, whose products are the matrix."""
    scales = np.abs(matrix).max(axis=1) / _GREATEST_WEIGHT
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales.astype(np.float32)
