/*
 * Where a datagram that the network redirected here wanted to go. A socket for datagrams has no SO_ORIGINAL_DST, so the kernel's table of
 * connections is asked (ctnetlink, linux/netfilter/nfnetlink_conntrack.h) for the flow whose answers go from us to its sender.
 */
#include "arguments.h"
#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

enum { room = 8192 };

static int asking = -1;
static uint32_t sequence;

struct question {
  struct nlmsghdr head;
  struct nfgenmsg family;
  char attributes[128];
};

static struct nlattr *begin(struct question *to, uint16_t type, const void *value, uint16_t size) {
  struct nlattr *made = (struct nlattr *)((char *)to + NLMSG_ALIGN(to->head.nlmsg_len));
  made->nla_type = type;
  made->nla_len = (uint16_t)(NLA_HDRLEN + size);
  if (size > 0) memcpy((char *)made + NLA_HDRLEN, value, size);
  to->head.nlmsg_len = NLMSG_ALIGN(to->head.nlmsg_len) + NLA_ALIGN(made->nla_len);
  return made;
}

/* What was put since `outer` was begun is inside it. */
static void end(struct question *to, struct nlattr *outer) {
  outer->nla_type |= NLA_F_NESTED;
  outer->nla_len = (uint16_t)((char *)to + to->head.nlmsg_len - (char *)outer);
}

static const struct nlattr *find(const char *at, const char *stop, int type) {
  while (stop - at >= NLA_HDRLEN) {
    const struct nlattr *one = (const struct nlattr *)at;
    if (one->nla_len < NLA_HDRLEN || one->nla_len > stop - at) return NULL;
    if ((one->nla_type & NLA_TYPE_MASK) == type) return one;
    at += NLA_ALIGN(one->nla_len);
  }
  return NULL;
}

static const struct nlattr *inside(const struct nlattr *outer, int type) {
  return outer ? find((const char *)outer + NLA_HDRLEN, (const char *)outer + outer->nla_len, type) : NULL;
}

static bool copy(const struct nlattr *from, void *to, size_t size) {
  if (!from || from->nla_len < NLA_HDRLEN + size) return false;
  memcpy(to, (const char *)from + NLA_HDRLEN, size);
  return true;
}

static bool open_once(void) {
  if (asking < 0) asking = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_NETFILTER);
  return asking >= 0;
}

/* The kernel answers while it is asked: the answer is there when the question is sent. False, with errno, where there is none. */
static bool ask(struct question *question, uint32_t *address, uint16_t *port) {
  char answer[room] __attribute__((aligned(NLMSG_ALIGNTO)));
  const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  if (!open_once()) return false;
  question->head.nlmsg_seq = ++sequence;
  if (sendto(asking, question, question->head.nlmsg_len, 0, (const struct sockaddr *)&kernel, sizeof kernel) < 0) return false;
  for (;;) {
    ssize_t size = recv(asking, answer, sizeof answer, 0);
    if (size < 0) return false;
    const struct nlmsghdr *head = (const struct nlmsghdr *)answer;
    if (!NLMSG_OK(head, (uint32_t)size) || head->nlmsg_seq != sequence) continue;
    if (head->nlmsg_type == NLMSG_ERROR) {
      errno = -((const struct nlmsgerr *)NLMSG_DATA(head))->error;
      return false;
    }
    const char *first = (const char *)NLMSG_DATA(head) + NLMSG_ALIGN(sizeof(struct nfgenmsg));
    const struct nlattr *wanted = find(first, (const char *)head + head->nlmsg_len, CTA_TUPLE_ORIG);
    errno = EPROTO;
    return copy(inside(inside(wanted, CTA_TUPLE_IP), CTA_IP_V4_DST), address, sizeof *address) &&
           copy(inside(inside(wanted, CTA_TUPLE_PROTO), CTA_PROTO_DST_PORT), port, sizeof *port);
  }
}

/*
 * wantedBy(our address, our port, the sender's address, its port), addresses as numbers: [address, port]; undefined where the kernel knows
 * no such flow; a negated errno where it cannot be asked.
 */
static napi_value wanted_by(napi_env env, napi_callback_info info) {
  ARGUMENTS(4);
  const uint32_t from = htonl((uint32_t)integer(env, argv[0], 0)), to = htonl((uint32_t)integer(env, argv[2], 0));
  const uint16_t from_port = htons((uint16_t)integer(env, argv[1], 0)), to_port = htons((uint16_t)integer(env, argv[3], 0));
  const uint8_t protocol = IPPROTO_UDP;
  struct question question = {
      .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct nfgenmsg)),
               .nlmsg_type = (NFNL_SUBSYS_CTNETLINK << 8) | IPCTNL_MSG_CT_GET,
               .nlmsg_flags = NLM_F_REQUEST},
      .family = {.nfgen_family = AF_INET, .version = NFNETLINK_V0}};
  struct nlattr *tuple = begin(&question, CTA_TUPLE_REPLY, NULL, 0), *part = begin(&question, CTA_TUPLE_IP, NULL, 0);
  begin(&question, CTA_IP_V4_SRC, &from, sizeof from);
  begin(&question, CTA_IP_V4_DST, &to, sizeof to);
  end(&question, part);
  part = begin(&question, CTA_TUPLE_PROTO, NULL, 0);
  begin(&question, CTA_PROTO_NUM, &protocol, sizeof protocol);
  begin(&question, CTA_PROTO_SRC_PORT, &from_port, sizeof from_port);
  begin(&question, CTA_PROTO_DST_PORT, &to_port, sizeof to_port);
  end(&question, part);
  end(&question, tuple);
  uint32_t address = 0;
  uint16_t port = 0;
  if (!ask(&question, &address, &port)) {
    const int failed = errno;
    if (failed == ENOENT) return NULL;
    /* What was left in it would be taken for the next answer. */
    if (asking >= 0) close(asking);
    asking = -1;
    return number(env, -failed);
  }
  napi_value made;
  napi_create_array_with_length(env, 2, &made);
  napi_set_element(env, made, 0, number(env, ntohl(address)));
  napi_set_element(env, made, 1, number(env, ntohs(port)));
  return made;
}

NAPI_MODULE_INIT() {
  napi_value made;
  napi_create_function(env, "wantedBy", NAPI_AUTO_LENGTH, wanted_by, NULL, &made);
  napi_set_named_property(env, exports, "wantedBy", made);
  return exports;
}
