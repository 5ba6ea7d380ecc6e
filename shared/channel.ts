/**
 * The channel between a host and the daemon of one of its machines: a TCP connection whose first bytes prove, with the
 * machine's key, who speaks. What follows is HTTP/1.1.
 *
 *     daemon → host    nonce, 32 random bytes
 *     host → daemon    "hutch-channel/1" | role, 1 byte | HMAC-SHA256(key, label | nonce | role | machine)
 *
 * The proof is of this connection, this machine and this role: heard bytes are of no use elsewhere, and whoever listens
 * in the daemon's place does not learn the key.
 */

/** `client`: a client's request that the gateway passes on. `host`: the host itself. */
export type Role = 'client' | 'host'

const label = Buffer.from('hutch-channel/1', 'latin1')
const codes: Readonly<Record<Role, number>> = { client: 1, host: 2 }

/** Where a daemon listens for its host: a port that IANA keeps for nobody, so that hardly any server wants it. */
export const channelPort = 49_151

export const keyBytes = 32
export const nonceBytes = 32
const proofBytes = 32
export const prefaceBytes = label.length + 1 + proofBytes

/** The bytes whose HMAC is the proof. */
export const provenBytes = (nonce: Buffer, role: Role, machine: string): Buffer =>
  Buffer.concat([label, nonce, Buffer.from([codes[role]]), Buffer.from(machine, 'utf8')])

export const writePreface = (role: Role, proof: Buffer): Buffer =>
  Buffer.concat([label, Buffer.from([codes[role]]), proof])

/** Undefined for bytes that are no preface of this version. */
export const readPreface = (bytes: Buffer): { readonly role: Role; readonly proof: Buffer } | undefined => {
  if (bytes.length !== prefaceBytes || !bytes.subarray(0, label.length).equals(label)) return undefined
  const code = bytes[label.length]
  const role = (Object.keys(codes) as Role[]).find(one => codes[one] === code)
  return role && { role, proof: bytes.subarray(label.length + 1) }
}

/** Compares in a time that does not depend on where they differ. */
export const equalProofs = (one: Buffer, other: Buffer): boolean => {
  if (one.length !== other.length) return false
  let difference = 0
  for (let i = 0; i < one.length; i++) difference |= (one[i] as number) ^ (other[i] as number)
  return difference === 0
}
