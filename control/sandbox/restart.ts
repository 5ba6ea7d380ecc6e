/** `POST /v0/sandboxes/{name}/restart`: the machine anew, with its files and its address. */
import { instanceLife } from '../reconcile/instance-life.ts'
import { onNewest, type Move } from '../reconcile/transition.ts'
import type { Action, Asked } from '../resources/action.ts'
import { answer, attempts, find, pokeAll, type Context } from '../resources/context.ts'
import type { Presented } from '../resources/present.ts'

const restart = async (context: Context, { actor, found: asked }: Asked): Promise<Presented> => {
  const { transition, store } = context
  const name = asked?.record.name ?? ''
  return onNewest(async () => {
    const { record, instances } = await find(context, actor, name, {})
    const written = await transition.write([
      { record, event: { name: 'restart', message: `restarted by ${actor.name}` } },
      ...instances.flatMap((instance): Move[] => {
        if (instanceLife.allows(instance.status, 'restart')) return [{ instance, event: 'restart' }]
        // One that is not up waits less for its next attempt.
        return instance.status === 'starting' ? [{ instance, change: { attempts: 0 } }] : []
      }),
    ])
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
