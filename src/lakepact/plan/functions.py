"""Functions that expressions may call beside those every SQL dialect has.

A list of what is allowed, not of what is forbidden: `reflect`, `java_method`, `input_file_name`,
`raise_error` and the like are simply not on it.
"""

SPARK_FUNCTIONS = frozenset(
    """
    abs acos add_months aggregate array array_append array_compact array_contains array_distinct
    array_except array_insert array_intersect array_join array_max array_min array_position array_prepend
    array_remove array_repeat array_size array_sort array_union arrays_overlap arrays_zip ascii asin atan
    atan2 base64 between bigint bin bit_count bit_get bool_and bround btrim cardinality cbrt ceil ceiling
    char char_length character_length chr coalesce collate concat concat_ws contains conv convert_timezone
    cos cosh crc32 current_date current_timestamp date date_add date_diff date_format date_from_unix_date
    date_part date_sub date_trunc dateadd datediff day dayname dayofmonth dayofweek dayofyear decimal decode
    degrees double e element_at elt encode endswith equal_null exists exp explode_outer expm1 extract
    factorial filter find_in_set flatten float floor forall format_number format_string from_json
    from_unixtime from_utc_timestamp get get_json_object greatest hash hex hour hypot if ifnull ilike
    initcap inline instr int is_valid_utf8 is_variant_null isnan isnotnull isnull json_array_length
    json_object_keys last_day lcase least left len length levenshtein like ln locate log log10 log1p log2
    lower lpad ltrim make_date make_interval make_timestamp map map_concat map_contains_key map_entries
    map_filter map_from_arrays map_keys map_values mask md5 minute mod month monthname months_between nanvl
    negative next_day now nullif nullifzero nvl nvl2 octet_length overlay parse_json parse_url pi pmod
    position positive pow power printf quarter radians reduce regexp regexp_count regexp_extract
    regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right
    rint rlike round rpad rtrim second sentences sequence sha sha1 sha2 sign signum sin sinh size slice
    smallint sort_array soundex space split split_part sqrt startswith str_to_map string struct substr
    substring substring_index tan tanh timestamp timestamp_micros timestamp_millis timestamp_seconds
    timestampadd timestampdiff tinyint to_binary to_char to_date to_json to_number to_timestamp
    to_unix_timestamp to_utc_timestamp transform transform_keys transform_values translate trim trunc
    try_add try_avg try_cast try_divide try_element_at try_mod try_multiply try_parse_json try_subtract
    try_to_binary try_to_date try_to_number try_to_timestamp try_variant_get typeof ucase unbase64 unhex
    unix_date unix_micros unix_millis unix_seconds unix_timestamp upper url_decode url_encode validate_utf8
    variant_get weekday weekofyear xxhash64 year zeroifnull zip_with
    """.split()
)
