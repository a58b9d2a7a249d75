// SPDX-License-Identifier: Apache-2.0
// Qwen2 and Qwen2.5: biases on q, k and v. After modeling_qwen2.py of transformers.
#include "model/architectures/architecture.h"

namespace whinchat {
namespace {

void CompleteConfig(ModelConfig* config) {
  config->has_attention_bias = true;
}

void MapLayer(const ModelConfig& c, LayerWeights& layer, WeightMap* map) {
  const int hidden = c.hidden_size;
  const int ffn = c.intermediate_size;
  const int q_size = c.num_heads * c.head_dim;
  const int kv_size = c.num_kv_heads * c.head_dim;
  map->Norm({"input_norm", "input_layernorm", "attn_norm"}, hidden, &layer.input_norm);
  map->Matrix({"q_proj", "self_attn.q_proj", "attn_q"}, {q_size, hidden}, &layer.q_proj);
  map->Matrix({"k_proj", "self_attn.k_proj", "attn_k"}, {kv_size, hidden}, &layer.k_proj);
  map->Matrix({"v_proj", "self_attn.v_proj", "attn_v"}, {kv_size, hidden}, &layer.v_proj);
  map->Bias({"q_bias", "self_attn.q_proj", "attn_q"}, q_size, &layer.q_bias);
  map->Bias({"k_bias", "self_attn.k_proj", "attn_k"}, kv_size, &layer.k_bias);
  map->Bias({"v_bias", "self_attn.v_proj", "attn_v"}, kv_size, &layer.v_bias);
  map->Matrix({"o_proj", "self_attn.o_proj", "attn_output"}, {hidden, q_size}, &layer.o_proj);
  map->Norm({"post_attention_norm", "post_attention_layernorm", "ffn_norm"},
            hidden,
            &layer.post_attention_norm);
  map->Matrix({"gate_proj", "mlp.gate_proj", "ffn_gate"}, {ffn, hidden}, &layer.gate_proj);
  map->Matrix({"up_proj", "mlp.up_proj", "ffn_up"}, {ffn, hidden}, &layer.up_proj);
  map->Matrix({"down_proj", "mlp.down_proj", "ffn_down"}, {hidden, ffn}, &layer.down_proj);
}

void MapWeights(const ModelConfig& c, WeightMap* map) {
  ModelWeights& weights = map->weights();
  const int hidden = c.hidden_size;
  map->Matrix({"embed_tokens", "model.embed_tokens", "token_embd"},
              {c.vocab_size, hidden},
              &weights.embed_tokens);
  for (int layer_idx = 0; layer_idx < c.num_layers; ++layer_idx) {
    map->EnterLayer(layer_idx);
    MapLayer(c, weights.layers[static_cast<size_t>(layer_idx)], map);
  }
  map->LeaveLayers();
  map->Norm({"final_norm", "model.norm", "output_norm"}, hidden, &weights.final_norm);
  if (!c.tie_word_embeddings) {
    map->Matrix({"lm_head", "lm_head", "output"}, {c.vocab_size, hidden}, &weights.lm_head);
  }
}

}  // namespace

const Architecture kQwen2Architecture = {"qwen2", CompleteConfig, MapWeights};

}  // namespace whinchat
