/*
 * What a connection with TLS carries, read and written on this side of JavaScript. Node has done the handshake, and all
 * that belongs to it stays Node's: this takes the SSL that Node made and the buffers that Node gave it, in place of Node's own
 * streams, which cost several calls of JavaScript and a turn of the loop for each write.
 *
 * The bytes come from whoever connects. They are read by OpenSSL alone; nothing is kept here but what the other side has not taken yet, which
 * is at most what JavaScript has given and was not told to be out.
 *
 * Everything here runs on the main thread.
 */
#include "arguments.h"
#include <openssl/err.h>
#include <uv.h>
#include "sessions.h"

enum {
  cipher_bytes = 64 * 1024,
  record_bytes = 16 * 1024,
  /* What comes of one reading, with what was there of a record before, and room for OpenSSL to read into. */
  plain_bytes = cipher_bytes + 3 * record_bytes,
  text_bytes = 32 * 1024,
};

struct stream {
  SSL *ssl;
  uv_stream_t *tcp;
  int fd;
  napi_ref told; /* the object whose functions are called */
  int pending;   /* writes that the kernel has not taken whole */
  int busy;      /* calls on the way that still use it */
  int failure;   /* of a write; below zero */
  bool reads;    /* what comes is this stream's, not Node's */
  bool over;     /* JavaScript has forgotten it */
};

struct rest {
  uv_write_t request;
  struct stream *stream;
  char bytes[];
};

static napi_env env_of_all;
static uv_loop_t *loop;
static napi_ref told_read, told_ended, told_written;
/* By descriptor. */
static struct stream **streams;
static int streams_size;
/* From the part of a TCPWrap that Node gives away to libuv's handle; unknown while there was no connection. */
static intptr_t tcp_at;
static bool is_tcp_known;
static char cipher[cipher_bytes], sealed[cipher_bytes + record_bytes];
/* What was read. JavaScript copies it: a part that is kept would keep all of it. */
static napi_ref plain_ref;
static char *plain;
/* Node is another than is known here: nobody looks again. */
static bool is_hopeless;

static void release(struct stream *stream) {
  if (!stream->over || stream->pending > 0 || stream->busy > 0) return;
  SSL_free(stream->ssl);
  free(stream);
}

static napi_value referred(napi_ref ref) {
  napi_value value = NULL;
  napi_get_reference_value(env_of_all, ref, &value);
  return value;
}

/* Calls JavaScript from the loop. What it throws is as any that nobody caught. */
static void tell(struct stream *stream, napi_ref function, size_t argc, const napi_value *argv) {
  napi_value error;
  if (stream->over) return;
  if (napi_make_callback(env_of_all, NULL, referred(stream->told), referred(function), argc, argv, NULL) !=
      napi_pending_exception)
    return;
  if (napi_get_and_clear_last_exception(env_of_all, &error) == napi_ok) napi_fatal_exception(env_of_all, error);
}

static void tell_number(struct stream *stream, napi_ref function, int64_t value) {
  napi_handle_scope scope;
  if (napi_open_handle_scope(env_of_all, &scope) != napi_ok) return;
  napi_value argv[] = {number(env_of_all, value)};
  tell(stream, function, 1, argv);
  napi_close_handle_scope(env_of_all, scope);
}

/* What OpenSSL has left behind would be taken for what comes next. To clear an empty queue costs more than to look. */
static void no_errors(void) {
  if (ERR_peek_error()) ERR_clear_error();
}

/* --- writing --- */

static void on_written(uv_write_t *request, int status) {
  struct rest *rest = (struct rest *)request;
  struct stream *stream = rest->stream;
  free(rest);
  if (status < 0 && stream->failure == 0) stream->failure = status;
  if (--stream->pending == 0) {
    stream->busy++;
    tell_number(stream, told_written, stream->failure);
    stream->busy--;
  }
  release(stream);
}

static void send_bytes(struct stream *stream, const char *bytes, size_t length) {
  uv_buf_t buffer = uv_buf_init((char *)bytes, (unsigned)length);
  int sent = uv_try_write(stream->tcp, &buffer, 1);
  if (sent == (int)length || stream->failure < 0) return;
  if (sent < 0 && sent != UV_EAGAIN) {
    stream->failure = sent;
    return;
  }
  size_t done = sent < 0 ? 0 : (size_t)sent;
  struct rest *rest = malloc(sizeof *rest + length - done);
  if (!rest) {
    stream->failure = UV_ENOMEM;
    return;
  }
  memcpy(rest->bytes, bytes + done, length - done);
  rest->stream = stream;
  buffer = uv_buf_init(rest->bytes, (unsigned)(length - done));
  int failed = uv_write(&rest->request, stream->tcp, &buffer, 1, on_written);
  if (failed < 0) {
    free(rest);
    stream->failure = failed;
  } else stream->pending++;
}

/* What OpenSSL has to send. */
static void flush(struct stream *stream) {
  BIO *out = SSL_get_wbio(stream->ssl);
  int length;
  while (BIO_ctrl_pending(out) > 0 && (length = BIO_read(out, sealed, sizeof sealed)) > 0)
    send_bytes(stream, sealed, (size_t)length);
}

/* Encrypts. What it makes leaves with `flush`, and where that is much, at once. */
static void seal(struct stream *stream, const char *bytes, size_t length) {
  while (length > 0 && stream->failure == 0) {
    size_t piece = length < cipher_bytes - record_bytes ? length : cipher_bytes - record_bytes, done;
    no_errors();
    if (SSL_write_ex(stream->ssl, bytes, piece, &done) != 1) {
      stream->failure = UV_EPROTO;
      no_errors();
      return;
    }
    bytes += done;
    length -= done;
    if (BIO_ctrl_pending(SSL_get_wbio(stream->ssl)) >= cipher_bytes / 2) flush(stream);
  }
}

/* --- reading --- */

/*
 * Decrypts all that has come and gives it to JavaScript at once: it may hand the connection back to Node then, which would not look at what was
 * left. Zero, UV_EOF when the other side has said that no more comes, or what failed.
 */
static int open_all(struct stream *stream) {
  size_t all = 0;
  int length = 0;
  do {
    no_errors();
    size_t room = plain_bytes - all;
    length = SSL_read(stream->ssl, plain + all, room < record_bytes ? (int)room : record_bytes);
    if (length > 0) all += (size_t)length;
  } while (length > 0);
  int why = SSL_get_error(stream->ssl, length);
  no_errors();
  if (all > 0) tell_number(stream, told_read, (int64_t)all);
  if (why == SSL_ERROR_ZERO_RETURN) return UV_EOF;
  return why == SSL_ERROR_WANT_READ ? 0 : UV_EPROTO;
}

static struct stream *stream_of(const uv_stream_t *tcp) {
  int fd;
  if (uv_fileno((const uv_handle_t *)tcp, &fd) != 0 || fd >= streams_size) return NULL;
  return streams[fd] && streams[fd]->tcp == tcp ? streams[fd] : NULL;
}

static void on_room(uv_handle_t *tcp, size_t suggested, uv_buf_t *buffer) {
  (void)tcp, (void)suggested;
  *buffer = uv_buf_init(cipher, sizeof cipher);
}

static void on_read(uv_stream_t *tcp, ssize_t length, const uv_buf_t *buffer) {
  struct stream *stream = stream_of(tcp);
  if (!stream || length == 0) return;
  stream->busy++;
  int how = (int)length;
  if (length > 0) {
    bool isIn = BIO_write(SSL_get_rbio(stream->ssl), buffer->base, (int)length) == (int)length;
    how = isIn ? open_all(stream) : UV_ENOMEM;
    /* Answers to what is not data, and what is said of what was wrong. */
    if (!stream->over) flush(stream);
  }
  if (how < 0 && !stream->over) {
    uv_read_stop(tcp);
    tell_number(stream, told_ended, how);
  }
  stream->busy--;
  release(stream);
}

/* --- from Node, and back --- */

struct wanted {
  int fd;
  uv_handle_t *found;
};

static void look(uv_handle_t *handle, void *data) {
  struct wanted *wanted = data;
  int fd;
  if (handle->type == UV_TCP && !uv_is_closing(handle) && uv_fileno(handle, &fd) == 0 && fd == wanted->fd)
    wanted->found = handle;
}

/* The handle of a TCPWrap, by the part of it that Node gives away; NULL where it is not what is expected. */
static uv_stream_t *tcp_of(char *part, int fd) {
  if (!is_tcp_known) {
    struct wanted wanted = {fd, NULL};
    uv_walk(loop, look, &wanted);
    tcp_at = (char *)wanted.found - part;
    is_tcp_known = wanted.found && tcp_at >= 0 && tcp_at < nearest;
    is_hopeless = !is_tcp_known;
    if (is_hopeless) return NULL;
  }
  uv_handle_t *handle = (uv_handle_t *)(part + tcp_at);
  int its;
  bool isIt = handle->type == UV_TCP && handle->loop == loop && !uv_is_closing(handle);
  return isIt && uv_fileno(handle, &its) == 0 && its == fd ? (uv_stream_t *)handle : NULL;
}

static bool has_place(int fd) {
  if (fd < streams_size) return streams[fd] == NULL;
  int size = fd + 1 + fd / 2;
  struct stream **grown = realloc(streams, (size_t)size * sizeof *grown);
  if (!grown) return false;
  memset(grown + streams_size, 0, (size_t)(size - streams_size) * sizeof *grown);
  streams = grown;
  streams_size = size;
  return true;
}

static void *pointer(napi_env env, napi_value value) {
  void *out;
  return napi_get_value_external(env, value, &out) == napi_ok ? out : NULL;
}

/* Node's own externals are not those of its interface for addons: V8 is asked, under its C++ name. A napi_value is a Local of V8's. */
extern void *v8_external_value(napi_value self) __asm__("_ZNK2v88External5ValueEv") __attribute__((weak));

static char *part_of(napi_env env, napi_value value) {
  napi_valuetype type;
  bool isOne = v8_external_value && napi_typeof(env, value, &type) == napi_ok && type == napi_external;
  return isOne ? v8_external_value(value) : NULL;
}

/* Nothing of it is on its way through Node. */
static bool is_quiet(SSL *ssl) {
  return SSL_is_init_finished(ssl) && SSL_pending(ssl) == 0 && BIO_ctrl_pending(SSL_get_rbio(ssl)) == 0 &&
         BIO_ctrl_pending(SSL_get_wbio(ssl)) == 0;
}

static void keep_reading(struct stream *stream, bool on) {
  uv_read_stop(stream->tcp);
  if (on && !uv_is_closing((uv_handle_t *)stream->tcp)) uv_read_start(stream->tcp, on_room, on_read);
}

/* take(part of a TCPWrap, part of its TLSWrap, descriptor, told): the stream, or undefined where it must stay Node's. */
static napi_value take(napi_env env, napi_callback_info info) {
  ARGUMENTS(4);
  char *tcp_part = part_of(env, argv[0]), *tls_part = part_of(env, argv[1]);
  int fd = (int)integer(env, argv[2], -1);
  napi_value made;
  if (!tcp_part || !tls_part || fd < 0 || is_hopeless) return NULL;
  uv_stream_t *tcp = tcp_of(tcp_part, fd);
  SSL *ssl = tcp ? session_of(tls_part) : NULL;
  if (!ssl) return NULL;
  struct stream *stream = is_quiet(ssl) && has_place(fd) ? calloc(1, sizeof *stream) : NULL;
  if (!stream) {
    SSL_free(ssl);
    return NULL;
  }
  *stream = (struct stream){.ssl = ssl, .tcp = tcp, .fd = fd, .reads = true};
  napi_create_reference(env, argv[3], 1, &stream->told);
  napi_create_external(env, stream, NULL, NULL, &made);
  streams[fd] = stream;
  keep_reading(stream, true);
  return made;
}

/* read(stream, on): whether to read on. */
static napi_value read_on(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  struct stream *stream = pointer(env, argv[0]);
  if (stream->reads) keep_reading(stream, truthy(env, argv[1]));
  return NULL;
}

/* write(stream, latin1 text or bytes, whether more follows): 0 when all is out, 1 when it is told later, or what failed. */
static napi_value write_all(napi_env env, napi_callback_info info) {
  ARGUMENTS(3);
  struct stream *stream = pointer(env, argv[0]);
  static char text[text_bytes];
  size_t length;
  void *bytes = text;
  if (napi_get_value_string_latin1(env, argv[1], text, sizeof text, &length) != napi_ok &&
      napi_get_buffer_info(env, argv[1], &bytes, &length) != napi_ok)
    return number(env, UV_EINVAL);
  seal(stream, bytes, length);
  if (!truthy(env, argv[2])) flush(stream);
  return number(env, stream->failure < 0 ? stream->failure : stream->pending > 0);
}

/* giveBack(stream): Node reads from here on, once it is told to. What was written is still told of. */
static napi_value give_back(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  struct stream *stream = pointer(env, argv[0]);
  if (stream->reads) {
    stream->reads = false;
    streams[stream->fd] = NULL;
    uv_read_stop(stream->tcp);
  }
  return NULL;
}

/* forget(stream): nothing is told any more, and it must not be named again. Before Node closes the connection. */
static napi_value forget(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  struct stream *stream = pointer(env, argv[0]);
  give_back(env, info);
  napi_delete_reference(env, stream->told);
  stream->over = true;
  release(stream);
  return NULL;
}

/* start(read, ended, written, plain): whom to tell, and what they read from. Before there are connections, once. Whether they can be taken at all. */
static napi_value start(napi_env env, napi_callback_info info) {
  ARGUMENTS(4);
  napi_value able;
  void *bytes = NULL;
  size_t length = 0;
  env_of_all = env;
  napi_get_buffer_info(env, argv[3], &bytes, &length);
  napi_create_reference(env, argv[3], 1, &plain_ref);
  plain = bytes;
  napi_create_reference(env, argv[0], 1, &told_read);
  napi_create_reference(env, argv[1], 1, &told_ended);
  napi_create_reference(env, argv[2], 1, &told_written);
  bool isAble = length >= plain_bytes && napi_get_uv_event_loop(env, &loop) == napi_ok && know_sessions();
  napi_get_boolean(env, isAble, &able);
  return able;
}

NAPI_MODULE_INIT() {
  FUNCTION(start);
  FUNCTION(take);
  FUNCTION(give_back);
  FUNCTION(forget);
  FUNCTION(read_on);
  FUNCTION(write_all);
  return exports;
}
