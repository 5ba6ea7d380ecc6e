/** A request let in to a preview, and what it needs for it. */
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import type { Exchange } from '../../../../shared/route.ts'
import type { Keys } from '../../../core/access/keys.ts'
import type { Standing } from '../../../core/access/standing.ts'
import type { Connections } from '../../../core/channel/connections.ts'
import type { Forwarder } from '../gateway/forward.ts'
import type { AnswerRules } from '../gateway/headers.ts'
import type { Reach } from '../../../core/machines/reach.ts'
import type { Asked } from '../../../../shared/lane/turn.ts'
import type { PreviewAddress } from './address.ts'
import { admit, type Admitted, type PreviewOptions } from './admit.ts'
import type { FindDeps } from './find.ts'

export interface PreviewDeps extends FindDeps {
  readonly hold: Reach['hold']
  readonly holdNow: Reach['holdNow']
  readonly forwarder: Forwarder
  readonly connections: Connections
  readonly ids: Ids
  readonly log: Log
  /** Told of each connection that has shown a token. */
  readonly admitted: (connection: object) => void
  readonly standing: Standing
  readonly keys: Pick<Keys, 'verify' | 'useAgain'>
}

/** A connection lives at most so long. */
export const cutAfterMs = 15 * 60_000

export interface Context extends PreviewDeps {
  readonly options: PreviewOptions
}

/** How the application's answers are changed, before what the preview itself says of them. */
export const answerRulesOf = ({ options }: Context, { base, isShared }: PreviewAddress): AnswerRules => ({
  base,
  ours: options.ourHeaders,
  shared: isShared,
  cookies: isShared,
})

/** Lets a request in, for as long as the preview and its token are there. */
export const enter = async (
  context: Context,
  address: PreviewAddress,
  request: Asked,
  exchange: Exchange,
): Promise<Admitted> => {
  const admitted = await admit(context, address, request)
  if (!admitted.preview.isPublic) context.admitted(request.socket)
  context.standing.watch(admitted.right, exchange)
  return admitted
}
