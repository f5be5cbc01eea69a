/** Answer of POST /internal/v1/vault:propose. `fields`: names of what differs. */
export type ProposeAnswer =
  | { result: 'proposed'; revision: number; fields: string[] }
  | { result: 'invalid'; errors: { field: string; problem: string; fix: string }[] }
  /** `revision`: that says so already. */
  | { result: 'unchanged'; revision: number }
  | { result: 'gone' | 'unknown_source' };

/** Answer of POST /internal/v1/vault:activate. `stale`: the lead has been corrected otherwise meanwhile. */
export interface ActivateAnswer {
  result: 'active' | 'stale' | 'gone';
}
