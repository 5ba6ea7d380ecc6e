import type { Resource, Store } from '../../control/store/store.ts'

/** A sandbox record; what matters to a test is given. */
export const record = (given: Partial<Resource> & { name: string }): Resource => ({
  uid: `uid-${given.name}`,
  kind: 'sandbox',
  workspace: 'main',
  parent: '',
  version: 1,
  status: 'DEPLOYED',
  metadata: { createdBy: 'a', updatedBy: 'a' },
  spec: {},
  internal: {},
  createdAt: 1_000,
  updatedAt: 1_000,
  ...given,
})

/** Account `acme` with workspaces `main` and `other`, account `rival` with `theirs`. */
export const addTenants = async ({ tenants }: Store): Promise<void> => {
  for (const id of ['acme', 'rival']) await tenants.addAccount({ id, displayName: id, createdAt: 1 })
  for (const [name, account] of [
    ['main', 'acme'],
    ['other', 'acme'],
    ['theirs', 'rival'],
  ] as const)
    await tenants.addWorkspace({ id: `id-${name}`, name, account, displayName: name, createdAt: 1 })
}

/** Numbers in [0, 1) that are the same on every run (mulberry32). */
export const dice = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
