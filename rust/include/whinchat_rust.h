// SPDX-License-Identifier: Apache-2.0
// The C boundary of the Rust library: Jinja chat templates. Text crosses it as UTF-8 with a length,
// never zero-terminated. No panic crosses it, no pointer is kept, and every call may be made from
// any thread; one template may be rendered by many threads at once.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum WhinchatTemplateStatus {
  WHINCHAT_TEMPLATE_OK = 0,
  WHINCHAT_TEMPLATE_SYNTAX_ERROR = 1,  // the template does not compile
  WHINCHAT_TEMPLATE_REFUSED = 2,       // it called raise_exception: text is its message
  WHINCHAT_TEMPLATE_FAILED = 3,        // any other error while rendering
  WHINCHAT_TEMPLATE_TOO_COSTLY = 4,    // the budget of instructions or nesting is used up
  WHINCHAT_TEMPLATE_PANIC = 5          // a fault of this library
} WhinchatTemplateStatus;

// What a call gives back: the rendered prompt, or a message and the template's line (0: unknown).
typedef struct WhinchatTemplateResult {
  WhinchatTemplateStatus status;
  uint32_t line;
  char* text;  // not zero-terminated; give back with whinchat_template_result_free
  size_t text_size;
} WhinchatTemplateResult;

typedef struct WhinchatTemplate WhinchatTemplate;

// Compiles. Null on an error, which `result` then tells; on success `result` has no text.
WhinchatTemplate* whinchat_template_compile(const char* source,
                                            size_t source_size,
                                            WhinchatTemplateResult* result);

// Renders with the members of the JSON object `context` as variables. `now_unix_seconds` is what
// strftime_now tells (in local time); negative: the clock.
void whinchat_template_render(const WhinchatTemplate* chat_template,
                              const char* context,
                              size_t context_size,
                              int64_t now_unix_seconds,
                              WhinchatTemplateResult* result);

// Both accept null.
void whinchat_template_free(WhinchatTemplate* chat_template);
void whinchat_template_result_free(WhinchatTemplateResult* result);

#ifdef __cplusplus
}  // extern "C"
#endif
