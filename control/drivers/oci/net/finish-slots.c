/*
 * Finishes network slots whose pairs of links are made (link.ts):
 *
 *     finish-slots [<interface> <namespace> <address> <gateway>] ...
 *
 * Refuses IPv6 on the host's end <interface> and brings it up; in the network namespace of that file it brings `lo` and `eth0` up, without an address of
 * IPv6, and gives `eth0` its IPv4 <address>, the second of a pair, and a way to everywhere by the first, the <gateway>. One process does it for all
 * of them, by rtnetlink(7): `ip -n` copies all mounts of the box for each, of which there are some for every machine, and a batch of `ip` ends at
 * the first word on IPv6 where the kernel has none (`ipv6.disable=1`).
 *
 * Where something cannot be done it says what, where and why on its standard error and exits with 1.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { host_bits = 31, most_of_a_message = 256 };

struct message {
  struct nlmsghdr head;
  char rest[most_of_a_message];
};

static const char *place;

static void fail(const char *step) {
  fprintf(stderr, "%s: %s: %s\n", place, step, strerror(errno));
  exit(1);
}

/* A kernel without IPv6 has nothing to refuse. */
static void refuse_ipv6(const char *interface) {
  char path[128];
  snprintf(path, sizeof path, "/proc/sys/net/ipv6/conf/%s/disable_ipv6", interface);
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return;
  if (file < 0 || write(file, "1", 1) != 1 || close(file) < 0) fail("refusing IPv6");
}

static void *begin(struct message *message, unsigned short type, unsigned short flags, size_t length) {
  memset(message, 0, sizeof *message);
  message->head.nlmsg_type = type;
  message->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
  message->head.nlmsg_len = (unsigned)NLMSG_LENGTH(length);
  return NLMSG_DATA(&message->head);
}

/* Gives the attribute, for others to be put into it. */
static struct rtattr *add(struct message *message, unsigned short type, const void *data, size_t length) {
  struct rtattr *attribute = (struct rtattr *)((char *)message + NLMSG_ALIGN(message->head.nlmsg_len));
  attribute->rta_type = type;
  attribute->rta_len = (unsigned short)RTA_LENGTH(length);
  if (length) memcpy(RTA_DATA(attribute), data, length);
  message->head.nlmsg_len = (unsigned)(NLMSG_ALIGN(message->head.nlmsg_len) + RTA_ALIGN(attribute->rta_len));
  return attribute;
}

static void end(const struct message *message, struct rtattr *attribute) {
  attribute->rta_len = (unsigned short)((const char *)message + message->head.nlmsg_len - (char *)attribute);
}

/* Sends it; fails with what the kernel answers unless that is `allowed`. */
static void ask(int kernel, const struct message *message, const char *step, int allowed) {
  char answer[4096];
  if (send(kernel, message, message->head.nlmsg_len, 0) < 0) fail(step);
  ssize_t length = recv(kernel, answer, sizeof answer, 0);
  const struct nlmsghdr *head = (const struct nlmsghdr *)answer;
  if (length < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) || head->nlmsg_type != NLMSG_ERROR) {
    errno = EPROTO;
    fail(step);
  }
  errno = -((const struct nlmsgerr *)NLMSG_DATA(head))->error;
  if (errno != 0 && errno != allowed) fail(step);
}

/* There is no fence for IPv6, so there is no address for it. A kernel without it knows no such setting. */
static void without_ipv6(int kernel, unsigned index) {
  struct message message;
  unsigned char mode = IN6_ADDR_GEN_MODE_NONE;
  struct ifinfomsg *link = begin(&message, RTM_SETLINK, 0, sizeof *link);
  link->ifi_index = (int)index;
  struct rtattr *all = add(&message, IFLA_AF_SPEC, NULL, 0);
  struct rtattr *of_ipv6 = add(&message, AF_INET6, NULL, 0);
  add(&message, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof mode);
  end(&message, of_ipv6);
  end(&message, all);
  ask(kernel, &message, "no address of IPv6", EAFNOSUPPORT);
}

static void bring_up(int kernel, unsigned index) {
  struct message message;
  struct ifinfomsg *link = begin(&message, RTM_NEWLINK, 0, sizeof *link);
  link->ifi_index = (int)index;
  link->ifi_flags = link->ifi_change = IFF_UP;
  ask(kernel, &message, "up", 0);
}

static void give_address(int kernel, unsigned index, struct in_addr address) {
  struct message message;
  struct ifaddrmsg *own = begin(&message, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof *own);
  own->ifa_family = AF_INET;
  own->ifa_prefixlen = host_bits;
  own->ifa_index = index;
  add(&message, IFA_LOCAL, &address, sizeof address);
  add(&message, IFA_ADDRESS, &address, sizeof address);
  ask(kernel, &message, "address", 0);
}

static void lead_by(int kernel, unsigned index, struct in_addr gateway) {
  struct message message;
  struct rtmsg *route = begin(&message, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, sizeof *route);
  route->rtm_family = AF_INET;
  route->rtm_table = RT_TABLE_MAIN;
  route->rtm_protocol = RTPROT_BOOT;
  route->rtm_scope = RT_SCOPE_UNIVERSE;
  route->rtm_type = RTN_UNICAST;
  add(&message, RTA_GATEWAY, &gateway, sizeof gateway);
  add(&message, RTA_OIF, &index, sizeof index);
  ask(kernel, &message, "route", 0);
}

static struct in_addr parsed(const char *text) {
  struct in_addr address;
  if (inet_pton(AF_INET, text, &address) == 1) return address;
  errno = EINVAL;
  fail(text);
  return address;
}

static void go_in(const char *namespace) {
  int file = open(namespace, O_RDONLY | O_CLOEXEC);
  if (file < 0 || setns(file, CLONE_NEWNET) < 0 || close(file) < 0) fail("network namespace");
}

static int open_rtnetlink(void) {
  int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (kernel < 0) fail("rtnetlink");
  return kernel;
}

/* The host's end comes up when IPv6 is refused, and not before. */
static void finish_outside(int kernel, const char *interface) {
  unsigned index = if_nametoindex(interface);
  if (index == 0) fail("links");
  refuse_ipv6(interface);
  without_ipv6(kernel, index);
  bring_up(kernel, index);
}

static void finish_inside(const char *address, const char *gateway) {
  int kernel = open_rtnetlink();
  unsigned lo = if_nametoindex("lo"), eth0 = if_nametoindex("eth0");
  if (lo == 0 || eth0 == 0) fail("links");
  bring_up(kernel, lo);
  without_ipv6(kernel, eth0);
  give_address(kernel, eth0, parsed(address));
  bring_up(kernel, eth0);
  lead_by(kernel, eth0, parsed(gateway));
  close(kernel);
}

int main(int count, char **argument) {
  place = "host";
  int kernel = open_rtnetlink();
  for (int at = 1; at + 3 < count; at += 4) {
    place = argument[at];
    finish_outside(kernel, argument[at]);
  }
  for (int at = 1; at + 3 < count; at += 4) {
    place = argument[at];
    go_in(argument[at + 1]);
    finish_inside(argument[at + 2], argument[at + 3]);
  }
  return 0;
}
