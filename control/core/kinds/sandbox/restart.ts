/** `POST /v0/sandboxes/{name}/restart`: the machine anew, with its files and its address. */
import { stat } from 'node:fs/promises'
import { instanceLife } from '../../transitions/instance-life.ts'
import { onNewest, type Move } from '../../transitions/transition.ts'
import type { Action, Asked } from '../../records/action.ts'
import { answer, attempts, find, pokeAll, type Context } from '../../records/context.ts'
import type { Presented } from '../../records/present.ts'
import type { Instance } from '../../store/store.ts'

/** One whose image somebody has removed is made from what has that name by now. */
const imageOf = async ({ image }: Instance): Promise<{ image?: undefined }> => {
  const isThere = await stat(image?.rootfs ?? '/').then(
    found => found.isDirectory(),
    () => false,
  )
  return isThere ? {} : { image: undefined }
}

const moveOf = async (instance: Instance): Promise<Move[]> => {
  const change = await imageOf(instance)
  if (instanceLife.allows(instance.status, 'restart')) return [{ instance, event: 'restart', change }]
  // One that is not up waits less for its next attempt.
  return instance.status === 'starting' ? [{ instance, change: { ...change, attempts: 0 } }] : []
}

const restart = async (context: Context, { actor, found: asked }: Asked): Promise<Presented> => {
  const { transition, store } = context
  const name = asked?.record.name ?? ''
  return onNewest(async () => {
    const { record, instances } = await find(context, actor, name, {})
    const moves = await Promise.all(instances.map(moveOf))
    const event = { name: 'restart', message: `restarted by ${actor.name}` }
    const written = await transition.write([{ record, event }, ...moves.flat()])
    pokeAll(context, written)
    const now = written.resources[0] ?? record
    return answer(context, { record: now, instances: await store.instances.ofOwner(record.uid) })
  }, attempts)
}

export const restartAction = {
  name: 'restart',
  summary: 'Ends all that runs in a sandbox and starts it anew with its files and its address',
  method: 'POST',
  path: 'restart',
  on: 'record',
  access: { scope: 'sandboxes:control', role: 'member' },
  errors: ['wrong_state', 'changed_meanwhile'],
  run: restart,
} as const satisfies Action
