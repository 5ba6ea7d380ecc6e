/** Users in the syntax of Docker's `USER`, looked up in the root file system's own passwd and group. */
import { fail } from '../../shared/errors.ts'
import type { Credentials } from '../native/spawn/spawn.ts'

/** The unprivileged user that a sandbox's workload runs as. */
export interface Identity extends Credentials {
  readonly name: string
  readonly home: string
}

/** Contents of /etc/passwd and /etc/group; '' for a file that is missing. */
interface UserDatabase {
  readonly passwd: string
  readonly group: string
}

const maxId = 2 ** 31 - 1
const refuse = (reason: string) => fail('invalid_argument', { field: 'user', reason })

const rows = (text: string): string[][] =>
  text
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => line.split(':'))

const id = (text: string | undefined): number | undefined => {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined
  const value = Number(text)
  return value <= maxId ? value : undefined
}

interface User {
  readonly name: string
  readonly uid: number
  readonly gid: number
  readonly home: string
}

/** A name in passwd, else a number there, else the number itself. */
const findUser = (spec: string, passwd: string): User => {
  const users = rows(passwd)
  const row = users.find(([name]) => name === spec) ?? users.find(([, , uid]) => id(uid) === (id(spec) ?? -1))
  if (row) {
    const [name = spec, , uidText, gidText, , home] = row
    const uid = id(uidText)
    const gid = id(gidText)
    if (uid === undefined || gid === undefined) throw refuse(`"${spec}" has a broken line in /etc/passwd`)
    return { name, uid, gid, home: home || '/' }
  }
  const uid = id(spec)
  if (uid === undefined) throw refuse(`there is no user "${spec}" in /etc/passwd`)
  return { name: spec, uid, gid: uid, home: '/' }
}

const findGroup = (spec: string, group: string): number => {
  const row = rows(group).find(([name]) => name === spec)
  const gid = id(row ? row[2] : spec)
  if (gid === undefined) throw refuse(`there is no group "${spec}" in /etc/group`)
  return gid
}

/**
 * Resolves `app`, `10001`, `app:grp` or `10001:10001`. A group that is named replaces the user's own groups, as in
 * Docker. Throws `invalid_argument` (field `user`) for an unknown user or group, and for root.
 */
export const resolveIdentity = (spec: string, database: UserDatabase): Identity => {
  const [userSpec = '', groupSpec, ...rest] = spec.split(':')
  if (userSpec === '' || groupSpec === '' || rest.length > 0) throw refuse('must be user or user:group')
  const user = findUser(userSpec, database.passwd)
  if (user.uid === 0) throw refuse('must not be root')
  if (groupSpec !== undefined) return { ...user, gid: findGroup(groupSpec, database.group), groups: [] }
  const groups = rows(database.group)
    .filter(([, , , members = '']) => members.split(',').includes(user.name))
    .flatMap(([, , gid]) => id(gid) ?? [])
  return { ...user, groups: [...new Set(groups)] }
}
