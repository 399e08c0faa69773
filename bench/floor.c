/*
 * The floor: what the kernel alone costs a DNS server. It answers each query with one prepared reply and does nothing else,
 * over UDP with recvmmsg and sendmmsg, over TCP with one read and one write for all that a connection has sent.
 *
 *   floor udp|tcp PORT [REPLY]      REPLY: a file with one whole reply; its header and what stands behind its question are sent for every query
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH 64
#define SIZE 4096
#define CONNECTIONS 64
#define STREAM 65536

/* Flags and counts of the reply, and what stands behind its question; by default 10.4.0.1 for whatever is asked. */
static unsigned char header[12] = {0, 0, 0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0};
static unsigned char tail[SIZE] = {0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0x0e, 0x10, 0, 4, 10, 4, 0, 1};
static int tail_length = 16;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

/* Where the question ends; 0 where the octets are no query with one. */
static int question_end(const unsigned char *message, int length) {
  int at = 12;
  while (at < length && message[at] != 0) at += message[at] + 1;
  at += 5;
  return at <= length ? at : 0;
}

static void read_reply(const char *path) {
  unsigned char message[SIZE];
  FILE *file = fopen(path, "rb");
  if (file == NULL) fail(path);
  int length = fread(message, 1, sizeof message, file);
  fclose(file);
  int end = question_end(message, length);
  if (end == 0) {
    fprintf(stderr, "%s: is no DNS reply\n", path);
    exit(1);
  }
  memcpy(header, message, 12);
  tail_length = length - end;
  memcpy(tail, message + end, tail_length);
}

/* Writes the reply to a query; gives its length, 0 for none. `out` has room for a query of 512 octets and the tail. */
static int answer(const unsigned char *query, int length, unsigned char *out) {
  int end = question_end(query, length);
  if (end == 0 || end > 512) return 0;
  memcpy(out, query, end);
  memcpy(out + 2, header + 2, 10);
  memcpy(out + end, tail, tail_length);
  return end + tail_length;
}

static int bound(int type, int port) {
  int fd = socket(AF_INET, type, 0), size = 4 << 20, on = 1;
  if (fd < 0) fail("socket");
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) fail("bind");
  return fd;
}

static void serve_udp(int port) {
  static unsigned char in[BATCH][SIZE], out[BATCH][SIZE + 512];
  static struct mmsghdr received[BATCH], replies[BATCH];
  static struct iovec in_vector[BATCH], out_vector[BATCH];
  static struct sockaddr_in from[BATCH];
  int fd = bound(SOCK_DGRAM, port);
  for (int i = 0; i < BATCH; i++) {
    in_vector[i] = (struct iovec){in[i], SIZE};
    received[i].msg_hdr = (struct msghdr){.msg_name = &from[i], .msg_iov = &in_vector[i], .msg_iovlen = 1};
  }
  puts("ready");
  fflush(stdout);
  for (;;) {
    for (int i = 0; i < BATCH; i++) received[i].msg_hdr.msg_namelen = sizeof from[i];
    int count = recvmmsg(fd, received, BATCH, MSG_WAITFORONE, NULL), filled = 0;
    for (int i = 0; i < count; i++) {
      int length = answer(in[i], received[i].msg_len, out[filled]);
      if (length == 0) continue;
      out_vector[filled] = (struct iovec){out[filled], length};
      replies[filled].msg_hdr = (struct msghdr){
          .msg_name = &from[i], .msg_namelen = sizeof from[i], .msg_iov = &out_vector[filled], .msg_iovlen = 1};
      filled++;
    }
    for (int sent = 0; sent < filled;) {
      int now = sendmmsg(fd, replies + sent, filled - sent, 0);
      sent += now > 0 ? now : 1;
    }
  }
}

struct stream {
  unsigned char in[STREAM];
  int held;
};

/* Writes all of it; 0 where the connection is gone. */
static int write_all(int fd, const unsigned char *octets, int length) {
  for (int done = 0; done < length;) {
    ssize_t now = write(fd, octets + done, length - done);
    if (now <= 0) return 0;
    done += now;
  }
  return 1;
}

/* Reads once, and answers all the queries that are whole; 0 at the end of the connection. */
static int serve_stream(int fd, struct stream *stream) {
  static unsigned char out[STREAM];
  ssize_t length = read(fd, stream->in + stream->held, STREAM - stream->held);
  if (length <= 0) return 0;
  stream->held += length;
  int at = 0, filled = 0;
  while (stream->held - at >= 2) {
    int size = stream->in[at] << 8 | stream->in[at + 1];
    if (stream->held - at < 2 + size) break;
    if (filled + 2 + 512 + tail_length > STREAM) {
      if (!write_all(fd, out, filled)) return 0;
      filled = 0;
    }
    int reply = answer(stream->in + at + 2, size, out + filled + 2);
    if (reply > 0) {
      out[filled] = reply >> 8;
      out[filled + 1] = reply;
      filled += 2 + reply;
    }
    at += 2 + size;
  }
  memmove(stream->in, stream->in + at, stream->held - at);
  stream->held -= at;
  return write_all(fd, out, filled);
}

static void serve_tcp(int port) {
  static struct stream streams[CONNECTIONS + 1];
  struct pollfd waited[CONNECTIONS + 1] = {{.fd = bound(SOCK_STREAM, port), .events = POLLIN}};
  int count = 1, on = 1;
  if (listen(waited[0].fd, CONNECTIONS) != 0) fail("listen");
  puts("ready");
  fflush(stdout);
  for (;;) {
    waited[0].events = count <= CONNECTIONS ? POLLIN : 0;
    if (poll(waited, count, -1) < 0) continue;
    for (int i = count - 1; i > 0; i--) {
      if (waited[i].revents == 0 || serve_stream(waited[i].fd, &streams[i])) continue;
      close(waited[i].fd);
      count--;
      waited[i] = waited[count];
      streams[i] = streams[count];
    }
    if ((waited[0].revents & POLLIN) == 0) continue;
    int fd = accept(waited[0].fd, NULL, NULL);
    if (fd < 0) continue;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    streams[count].held = 0;
    waited[count] = (struct pollfd){.fd = fd, .events = POLLIN};
    count++;
  }
}

int main(int count, char **words) {
  if (count < 3) {
    fputs("usage: floor udp|tcp PORT [REPLY]\n", stderr);
    return 1;
  }
  if (count > 3) read_reply(words[3]);
  if (strcmp(words[1], "tcp") == 0) serve_tcp(atoi(words[2]));
  serve_udp(atoi(words[2]));
}
