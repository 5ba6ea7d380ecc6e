/** Addresses that are not the internet, for whoever connects to a place that somebody else has chosen. */

/**
 * Networks of IPv4 as CIDR that are not globally reachable, from IANA's registry of special addresses. The three networks for
 * documentation are left out: nobody is there.
 */
export const closedNetworks = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
] as const

/** IPv4 addresses of metadata services: every cloud has credentials there, so nothing opens them. */
export const metadataServices = ['169.254.169.254', '169.254.170.2', '100.100.100.200'] as const
