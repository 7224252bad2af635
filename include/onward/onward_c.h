#ifndef ONWARD_ONWARD_C_H
#define ONWARD_ONWARD_C_H

/* Onward for C and for whatever calls C: load, prepare, train, infer, save.
 *
 * Each function that can fail returns a status; onward_last_error() then has the message. What a
 * function gives through a pointer is the caller's, who frees it; it is NULL where the function
 * failed. Handles may be used by any thread; a trainer takes one call at a time, and others wait.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ONWARD_C_API __attribute__((visibility("default")))

typedef enum onward_status {
  ONWARD_OK = 0,
  ONWARD_INVALID_ARGUMENT = 1, /* an option, a name or a number */
  ONWARD_INVALID_MODEL = 2, /* a file that is no model, or one that breaks the standard's rules */
  ONWARD_UNSUPPORTED = 3,   /* a valid model, but something in it can't be done */
  ONWARD_FILE = 4,          /* a file or folder that can't be read or written */
  ONWARD_DATA = 5,          /* a batch or dataset that does not fit the model */
  ONWARD_OUT_OF_MEMORY = 6,
  ONWARD_BUG = 7 /* of Onward's own; please report it */
} onward_status;

/* The message of the last call of this thread that failed, until its next call that fails; never
 * NULL. */
ONWARD_C_API const char* onward_last_error(void);
/* "0.1.0". */
ONWARD_C_API const char* onward_version(void);

typedef enum onward_log_level { ONWARD_LOG_INFO = 0, ONWARD_LOG_WARNING = 1 } onward_log_level;
typedef void (*onward_log_callback)(onward_log_level level, const char* message, void* user_data);
/* Sets who is told what a caller should know beside a result; NULL ends it. */
ONWARD_C_API void onward_set_log_callback(onward_log_callback callback, void* user_data);

/* Element types; the numbers are those of ONNX's TensorProto.DataType, of which these are the most
 * used. */
typedef enum onward_dtype {
  ONWARD_F32 = 1,
  ONWARD_U8 = 2,
  ONWARD_I8 = 3,
  ONWARD_I32 = 6,
  ONWARD_I64 = 7,
  ONWARD_BOOL = 9,
  ONWARD_F16 = 10,
  ONWARD_F64 = 11,
  ONWARD_BF16 = 16
} onward_dtype;

/* Tensors by name: a batch, the outputs of a step, a state. */
typedef struct onward_tensors onward_tensors;

/* One of them, as elements in row-major order; it lives as long as the onward_tensors that it is
 * of. */
typedef struct onward_tensor {
  int32_t dtype; /* an onward_dtype, or another number of TensorProto.DataType */
  size_t rank;
  const int64_t* shape; /* `rank` numbers */
  const void* data;
  size_t bytes;
} onward_tensor;

ONWARD_C_API onward_status onward_tensors_create(onward_tensors** tensors);
ONWARD_C_API void onward_tensors_free(onward_tensors* tensors);
/* Adds a tensor, or replaces that of the same name; the elements are copied. */
ONWARD_C_API onward_status onward_tensors_set(onward_tensors* tensors, const char* name,
                                              const onward_tensor* tensor);
ONWARD_C_API size_t onward_tensors_count(const onward_tensors* tensors);
/* The names in alphabetical order; NULL beyond the last. */
ONWARD_C_API const char* onward_tensors_name(const onward_tensors* tensors, size_t index);
ONWARD_C_API onward_status onward_tensors_get(const onward_tensors* tensors, const char* name,
                                              onward_tensor* tensor);
/* An element of any real type as a double. */
ONWARD_C_API onward_status onward_tensors_number(const onward_tensors* tensors, const char* name,
                                                 size_t index, double* number);

/* A model; it never changes. */
typedef struct onward_model onward_model;

ONWARD_C_API onward_status onward_load(const char* file, onward_model** model);
ONWARD_C_API onward_status onward_load_bytes(const void* bytes, size_t count, onward_model** model);
ONWARD_C_API onward_status onward_save(const onward_model* model, const char* file);
ONWARD_C_API void onward_model_free(onward_model* model);

typedef struct onward_setting {
  const char* name; /* "lr", "beta1", "weight_decay" ... */
  double value;
} onward_setting;

/* Begin with ONWARD_PREPARE_OPTIONS. What is NULL or 0 is as `onward prepare` has it. */
typedef struct onward_prepare_options {
  size_t struct_size;
  const char* loss;      /* "softmax_cross_entropy" */
  const char* optimizer; /* "adam" */
  const char* formula;   /* "torch" */
  const onward_setting* settings;
  size_t setting_count;
  const char* model_output; /* the output that the loss reads */
  const char* const* train; /* patterns of names */
  size_t train_count;
  const char* const* freeze;
  size_t freeze_count;
  int batch_norm_by_batch; /* 0: by the running statistics, as in inference */
  int without_dropout;
} onward_prepare_options;
#define ONWARD_PREPARE_OPTIONS {sizeof(onward_prepare_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Makes an inference model trainable. `options` may be NULL. */
ONWARD_C_API onward_status onward_prepare(const onward_model* model,
                                          const onward_prepare_options* options,
                                          onward_model** prepared);

/* A training: a model with a state that changes. */
typedef struct onward_trainer onward_trainer;

/* `threads` 0: as many as the machine has. */
ONWARD_C_API onward_status onward_trainer_create(const onward_model* model, uint64_t seed,
                                                 int64_t threads, onward_trainer** trainer);
ONWARD_C_API void onward_trainer_free(onward_trainer* trainer);
/* One training step; the state is as it was where it fails. `outputs` may be NULL. */
ONWARD_C_API onward_status onward_trainer_step(onward_trainer* trainer, const onward_tensors* batch,
                                               onward_tensors** outputs);
/* The outputs of the inference graph; never changes the state. */
ONWARD_C_API onward_status onward_trainer_infer(onward_trainer* trainer,
                                                const onward_tensors* batch,
                                                onward_tensors** outputs);
ONWARD_C_API onward_status onward_trainer_initialize(onward_trainer* trainer);
ONWARD_C_API onward_status onward_trainer_state(const onward_trainer* trainer,
                                                onward_tensors** state);
/* Gives some state tensors other values: all of them, or none where one does not fit. */
ONWARD_C_API onward_status onward_trainer_set_state(onward_trainer* trainer,
                                                    const onward_tensors* state);
/* The model with the state that it has now. */
ONWARD_C_API onward_status onward_trainer_model(const onward_trainer* trainer,
                                                onward_model** model);
/* Writes it: onward_load and onward_trainer_create resume from there. */
ONWARD_C_API onward_status onward_trainer_save(const onward_trainer* trainer, const char* file);

/* Arrays from files, whose first dimension counts the examples. */
typedef struct onward_dataset onward_dataset;

/* An .npz file, a folder of .npy files, mnist:FOLDER or mnist-test:FOLDER. */
ONWARD_C_API onward_status onward_dataset_open(const char* where, onward_dataset** dataset);
ONWARD_C_API void onward_dataset_free(onward_dataset* dataset);
ONWARD_C_API int64_t onward_dataset_size(const onward_dataset* dataset);
/* The same examples in another order, by seed and epoch. */
ONWARD_C_API onward_status onward_dataset_shuffled(const onward_dataset* dataset, uint64_t seed,
                                                   uint64_t epoch, onward_dataset** shuffled);
/* The examples from number `first` on, at most `count` of them. */
ONWARD_C_API onward_status onward_dataset_rows(const onward_dataset* dataset, int64_t first,
                                               int64_t count, onward_tensors** batch);

#ifdef __cplusplus
}
#endif

#endif
