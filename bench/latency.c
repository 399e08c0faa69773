/*
 * Asks a server on 127.0.0.1 over UDP at a fixed rate, whatever comes back, and prints how long replies took.
 *
 * A query has the time at which it was to be sent, and its reply's time is that at which the kernel had it: a server that stops for a
 * while is charged for every query that was due meanwhile (no coordinated omission), and this program's own wake-ups are not.
 * How much later than due queries left is printed too (`late`): where that is large, this program was the slow one.
 *
 *   latency PORT RATE SECONDS QUESTIONS      QUESTIONS: a file of `name TYPE` lines, asked in turn
 *
 * Prints an object of JSON: counts, and times in microseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH 32
#define SIZE 4096
#define IDS 65536
#define SECOND 1000000000LL
/* How long replies are waited for after the last query. */
#define PATIENCE SECOND

struct query {
  unsigned char octets[300];
  int length;
};

static struct query *queries;
static int query_count;
/* When the query of an ID was due; 0: it is answered, or was never sent. */
static int64_t due[IDS];
static int64_t *took, *late;
static int64_t sent, answered, unsent;
static int fd;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

/* The clock that the kernel stamps datagrams with. */
static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * SECOND + time.tv_nsec;
}

static int type_number(const char *name) {
  static const struct {
    const char *name;
    int number;
  } types[] = {{"A", 1}, {"NS", 2}, {"CNAME", 5}, {"SOA", 6}, {"PTR", 12}, {"MX", 15}, {"TXT", 16}, {"AAAA", 28}, {"SRV", 33}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcasecmp(types[i].name, name) == 0) return types[i].number;
  fprintf(stderr, "%s: is no type that is known here\n", name);
  exit(1);
}

static void write_query(struct query *query, const char *name, int type) {
  unsigned char *at = query->octets;
  memcpy(at, "\0\0\1\0\0\1\0\0\0\0\0\0", 12);
  at += 12;
  while (*name != 0) {
    size_t label = strcspn(name, ".");
    if (label == 0 || label > 63 || at + label + 6 > query->octets + sizeof query->octets) {
      fprintf(stderr, "%s: is no name\n", name);
      exit(1);
    }
    *at++ = label;
    memcpy(at, name, label);
    at += label;
    name += label + (name[label] == '.');
  }
  *at++ = 0;
  *at++ = type >> 8;
  *at++ = type;
  *at++ = 0;
  *at++ = 1;
  query->length = at - query->octets;
}

static void read_questions(const char *path) {
  FILE *file = fopen(path, "r");
  char name[256], type[16];
  int room = 0;
  if (file == NULL) fail(path);
  while (fscanf(file, "%255s %15s", name, type) == 2) {
    if (query_count == room) {
      room = room == 0 ? 1024 : room * 2;
      queries = realloc(queries, room * sizeof *queries);
      if (queries == NULL) fail("realloc");
    }
    write_query(&queries[query_count++], name, type_number(type));
  }
  fclose(file);
  if (query_count == 0) {
    fprintf(stderr, "%s: has no question\n", path);
    exit(1);
  }
}

static void connect_to(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int size = 4 << 20, on = 1;
  fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  if (fd < 0) fail("socket");
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
}

/* Sends those that are due by now, at most a batch and at most `rest`; the first was due at `from`. */
static void send_due(int64_t from, int64_t interval, int64_t time, int64_t rest) {
  struct mmsghdr messages[BATCH];
  struct iovec vectors[BATCH];
  int count = 0;
  for (; count < BATCH && count < rest && from + count * interval <= time; count++) {
    struct query *query = &queries[(sent + count) % query_count];
    uint16_t id = sent + count;
    /* The same question may be in the batch twice, so each has octets of its own. */
    static unsigned char octets[BATCH][sizeof query->octets];
    memcpy(octets[count], query->octets, query->length);
    octets[count][0] = id >> 8;
    octets[count][1] = id;
    vectors[count] = (struct iovec){octets[count], query->length};
    messages[count] = (struct mmsghdr){.msg_hdr = {.msg_iov = &vectors[count], .msg_iovlen = 1}};
    due[id] = from + count * interval;
    late[sent + count] = time - due[id];
  }
  int gone = count == 0 ? 0 : sendmmsg(fd, messages, count, 0);
  if (gone < 0) gone = 0;
  for (int i = gone; i < count; i++) due[(sent + i) % IDS] = 0;
  unsent += count - gone;
  sent += count;
}

static int64_t stamp_of(struct msghdr *message) {
  for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
    struct timespec time;
    memcpy(&time, CMSG_DATA(part), sizeof time);
    return time.tv_sec * SECOND + time.tv_nsec;
  }
  return now();
}

static void receive(void) {
  static unsigned char octets[BATCH][SIZE], control[BATCH][64];
  struct mmsghdr messages[BATCH];
  struct iovec vectors[BATCH];
  int count;
  do {
    for (int i = 0; i < BATCH; i++) {
      vectors[i] = (struct iovec){octets[i], SIZE};
      messages[i] = (struct mmsghdr){
          .msg_hdr = {.msg_iov = &vectors[i], .msg_iovlen = 1, .msg_control = control[i], .msg_controllen = sizeof control[i]}};
    }
    count = recvmmsg(fd, messages, BATCH, 0, NULL);
    for (int i = 0; i < count; i++) {
      if (messages[i].msg_len < 12 || (octets[i][2] & 0x80) == 0) continue;
      int id = octets[i][0] << 8 | octets[i][1];
      if (due[id] == 0) continue;
      took[answered++] = stamp_of(&messages[i].msg_hdr) - due[id];
      due[id] = 0;
    }
  } while (count == BATCH);
}

/* Waits until a moment or a datagram; whether there may be one. */
static int wait_until(int64_t time) {
  int64_t rest = time - now();
  if (rest <= 0) return 1;
  struct timespec timeout = {rest / SECOND, rest % SECOND};
  struct pollfd waited = {.fd = fd, .events = POLLIN};
  int ready = ppoll(&waited, 1, &timeout, NULL);
  if (ready < 0 && errno != EINTR) fail("ppoll");
  return ready > 0;
}

static int by_size(const void *one, const void *other) {
  int64_t difference = *(const int64_t *)one - *(const int64_t *)other;
  return (difference > 0) - (difference < 0);
}

static double quantile(const int64_t *sorted, int64_t count, double part) {
  if (count == 0) return -1;
  int64_t at = part * count;
  return sorted[at < count ? at : count - 1] / 1000.0;
}

int main(int words, char **word) {
  if (words != 5 || atoi(word[2]) < 1 || atof(word[3]) <= 0) {
    fputs("usage: latency PORT RATE SECONDS QUESTIONS\n", stderr);
    return 1;
  }
  int64_t rate = atoi(word[2]), total = rate * atof(word[3]);
  double interval = (double)SECOND / rate;
  read_questions(word[4]);
  connect_to(atoi(word[1]));
  took = calloc(total + BATCH, sizeof *took);
  late = calloc(total + BATCH, sizeof *late);
  if (took == NULL || late == NULL) fail("calloc");
  /* Else the kernel lets a wait of microseconds take 50 more. */
  prctl(PR_SET_TIMERSLACK, 1);
  int64_t start = now();
  while (sent < total) {
    int64_t next = start + sent * interval;
    if (wait_until(next)) receive();
    send_due(next, interval, now(), total - sent);
  }
  for (int64_t end = now() + PATIENCE; answered < sent - unsent && now() < end;) {
    wait_until(end);
    receive();
  }
  qsort(took, answered, sizeof *took, by_size);
  qsort(late, sent, sizeof *late, by_size);
  printf("{\"sent\":%lld,\"answered\":%lld,\"unsent\":%lld,", (long long)sent, (long long)answered, (long long)unsent);
  printf("\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,", quantile(took, answered, 0.5), quantile(took, answered, 0.9), quantile(took, answered, 0.99));
  printf("\"p999\":%.1f,\"max\":%.1f,", quantile(took, answered, 0.999), quantile(took, answered, 1));
  printf("\"late\":%.1f}\n", quantile(late, sent, 0.99));
}
