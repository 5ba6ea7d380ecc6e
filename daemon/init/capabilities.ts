/**
 * Capabilities that tenant processes lose. They keep those that root of a container usually has, so package managers,
 * servers on low ports and `su` work. They lose those with which they could change the firewall, trace the daemon or
 * reach the kernel.
 */

/** Capability numbers of linux/capability.h that tenant root keeps. */
const kept = {
  CHOWN: 0,
  DAC_OVERRIDE: 1,
  FOWNER: 3,
  FSETID: 4,
  KILL: 5,
  SETGID: 6,
  SETUID: 7,
  SETPCAP: 8,
  NET_BIND_SERVICE: 10,
  NET_RAW: 13,
  SYS_CHROOT: 18,
  MKNOD: 27,
  AUDIT_WRITE: 29,
  SETFCAP: 31,
} as const

/** Every capability a kernel can have; those it does not know are skipped when dropping. */
const every = (1n << 64n) - 1n
const mask = (numbers: readonly number[]): bigint => numbers.reduce((bits, number) => bits | (1n << BigInt(number)), 0n)

/** The bits to remove from the bounding set of a tenant process: for `SpawnOptions.dropCapabilities`. */
export const tenantDrops: bigint = every & ~mask(Object.values(kept))
