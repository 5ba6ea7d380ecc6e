/** A machine's users are nobody on the box, where it has the user namespace that its network namespace belongs to. */
import { join } from 'node:path'
import { stageDir } from '../names.ts'
import { idsPerMachine } from '../users/ranges.ts'

/** As the runtime wants to be told of them although they are written in the namespace; `firstId` is root's on the box. */
export const usersOf = (firstId: number): object => {
  const map = [{ containerID: 0, hostID: firstId, size: idsPerMachine }]
  return { uidMappings: map, gidMappings: map }
}

export const userNamespace = { type: 'user', path: join(stageDir, 'users') }
