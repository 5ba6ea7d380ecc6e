/** A job: what runs to its end when it is executed. */
import { s, text } from '../../../shared/schema.ts'
import { defineKind } from '../records/define-kind.ts'
import { namedPolicies } from './named.ts'
import { lastFive, listRevisions } from './revisions.ts'
import { noRunner } from './unserved.ts'
import { runtimeOf, specOf, withTriggers } from './workload.ts'

const whole = (min: number, max: number) => s.nullish(s.int().check(s.gte(min), s.lte(max)))

const volume = s.object({
  name: text(63),
  mountPath: text(4096).check(s.startsWith('/', 'must be an absolute path')),
  readOnly: s.nullish(s.boolean()),
  sizeMb: s.int().check(s.gte(1)),
  type: s.literal('ephemeral'),
})

const weekSeconds = 604_800

export const jobKind = defineKind({
  ...noRunner,
  kind: 'job',
  plural: 'jobs',
  param: 'jobId',
  scope: 'jobs',
  spec: specOf({
    githubRunner: s.nullish(s.object({ repositories: s.nullish(s.array(text(256)).check(s.maxLength(100))) })),
    runtime: s.nullish(
      runtimeOf({
        diskPercent: whole(10, 95),
        maxConcurrentTasks: whole(1, 1000),
        maxRetries: whole(0, 100),
        timeout: whole(0, weekSeconds),
      }),
    ),
    volumes: s.nullish(s.array(volume).check(s.maxLength(100))),
  }),
  fallback: { enabled: true },
  absent: 'clear',
  complete: withTriggers,
  sealed: [{ at: ['runtime', 'envs'], as: 'envs' }],
  showsSecrets: true,
  uploads: true,
  imageAt: ['runtime', 'image'],
  paginated: true,
  revisions: lastFive,
  actions: [listRevisions('jobs:list')],
  references: namedPolicies,
  example: {
    create: {
      metadata: { name: 'nightly' },
      spec: { runtime: { image: 'job/nightly:1', memory: 1024, maxRetries: 2, timeout: 900 } },
    },
    update: { spec: { runtime: { image: 'job/nightly:2', memory: 1024 } } },
  },
})
