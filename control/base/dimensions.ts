/** What is metered, of which resource type, in which unit. */
export interface BillingDimension {
  readonly resourceType: string
  readonly unit: 'GB-seconds' | 'count' | 'hours'
}

const gbSeconds = (resourceType: string): BillingDimension => ({ resourceType, unit: 'GB-seconds' })

export const billingDimensions: Readonly<Record<string, BillingDimension>> = {
  sandbox_compute_runtime_gbs: gbSeconds('sandbox'),
  sandbox_image_storage_gbs: gbSeconds('sandbox'),
  sandbox_snapshot_storage_gbs: gbSeconds('sandbox'),
  agent_compute_runtime_gbs: gbSeconds('agent'),
  agent_image_storage_gbs: gbSeconds('agent'),
  agent_async_requests_count: { resourceType: 'agent', unit: 'count' },
  job_compute_runtime_gbs: gbSeconds('job'),
  job_image_storage_gbs: gbSeconds('job'),
  mcp_server_compute_runtime_gbs: gbSeconds('mcp_server'),
  mcp_server_image_storage_gbs: gbSeconds('mcp_server'),
  volume_storage_gbs: gbSeconds('volume'),
  // Metered like all others as a quantity per second: 1/3600 while the domain is active.
  custom_domain_active_time_hours: { resourceType: 'custom_domain', unit: 'hours' },
}

/** The resource type a dimension is billed under; `kind` for a dimension that is not in the table. */
export const resourceTypeOf = (dimension: string, kind: string): string =>
  billingDimensions[dimension]?.resourceType ?? kind
