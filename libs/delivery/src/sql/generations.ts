/** SQL: keys of a delivery's operations in every generation that it had; those of earlier ones stand in no row of `delivery` any more. */
export const everyGeneration = (delivery: string): string => `CASE WHEN ${delivery}.generation = 1 THEN ${delivery}.operation_keys ELSE (
    SELECT array_agg(DISTINCT regexp_replace(key, '~g[0-9]+$', '') || CASE WHEN g = 1 THEN '' ELSE '~g' || g END)
    FROM unnest(${delivery}.operation_keys) AS key, generate_series(1, ${delivery}.generation) AS g
  ) END`;
