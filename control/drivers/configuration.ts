/** What the daemon of a machine is told of it. */
import { workloadVariables } from '../../shared/guarded-env.ts'
import type { Configuration } from '../../shared/wire/host.ts'
import type { MachineSpec } from './driver.ts'

export const configurationOf = ({
  env,
  workdir,
  identity,
}: Pick<MachineSpec, 'env' | 'workdir' | 'identity'>): Configuration => ({
  environment: { ...workloadVariables(env), WORKDIR: workdir },
  ...(identity ? { identity } : {}),
})
