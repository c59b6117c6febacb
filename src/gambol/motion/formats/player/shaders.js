// GLSL. Colours are given as sRGB and lit in linear light; distance fades into the sky's own colour.

const TRANSFORM = `#version 300 es
layout(location = 0) in vec3 a_position;
layout(location = 1) in vec3 a_normal;
uniform mat4 u_projection;
uniform mat3 u_rotation;
uniform vec3 u_position, u_scale;
out vec3 v_place, v_normal, v_local;
invariant gl_Position;
void main() {
  v_local = u_scale * a_position;
  v_place = u_rotation * v_local + u_position;
  v_normal = u_rotation * (a_normal / u_scale);
  gl_Position = u_projection * vec4(v_place, 1.0);
}`;

const SKY_COLOUR = `
uniform vec3 u_zenith, u_horizon;
vec3 skyColour(vec3 direction) {
  return mix(u_horizon, u_zenith, pow(clamp(direction.z, 0.0, 1.0), 0.55));
}`;

const SURFACE = `#version 300 es
precision highp float;
precision highp sampler2DShadow;
#define OCCLUDERS 40
in vec3 v_place, v_normal, v_local;
uniform vec4 u_colour;
uniform vec3 u_eye, u_sun, u_sunLight, u_skyLight, u_groundLight, u_grid;
uniform float u_glow, u_lines, u_themed, u_reach, u_occluders;
uniform mat4 u_shadowMatrix;
uniform sampler2DShadow u_shadowMap;
uniform vec4 u_occluderFrom[OCCLUDERS], u_occluderTo[OCCLUDERS];
uniform vec4 u_occludedSphere;
out vec4 o_colour;
${SKY_COLOUR}

float sunlit(vec3 normal) {
  vec3 at = (u_shadowMatrix * vec4(v_place + 0.012 * normal, 1.0)).xyz;
  float edge = max(abs(at.x), abs(at.y));
  if (edge > 1.0) return 1.0;
  vec3 map = at * 0.5 + 0.5;
  float texel = 1.0 / float(textureSize(u_shadowMap, 0).x), lit = 0.0;
  float step = 1.3 * texel;
  for (int i = -2; i <= 2; i++)
    for (int j = -2; j <= 2; j++) lit += texture(u_shadowMap, map + vec3(float(i) * step, float(j) * step, -0.0006));
  return mix(lit / 25.0, 1.0, smoothstep(0.8, 1.0, edge));
}

// How much of the sky the characters leave free: each limb is a capsule, taken as the sphere at its nearest point.
float openness(vec3 normal) {
  float open = 1.0;
  if (distance(v_place, u_occludedSphere.xyz) > u_occludedSphere.w) return open;
  for (int k = 0; k < OCCLUDERS; k++) {
    if (float(k) >= u_occluders) break;
    vec3 from = u_occluderFrom[k].xyz, span = u_occluderTo[k].xyz - from;
    float along = clamp(dot(v_place - from, span) / max(dot(span, span), 1e-9), 0.0, 1.0);
    vec3 away = from + along * span - v_place;
    float far = length(away), radius = u_occluderFrom[k].w;
    float shade = clamp(dot(normal, away) / far, 0.0, 1.0) * min(radius * radius / (far * far), 1.0);
    open *= 1.0 - 0.8 * shade;
  }
  return open;
}

float gridLines(vec2 at, float spacing, float width) {
  vec2 cell = at / spacing, blur = fwidth(cell);
  vec2 away = abs(fract(cell - 0.5) - 0.5);
  vec2 line = 1.0 - smoothstep(vec2(0.5 * width / spacing), vec2(0.5 * width / spacing) + 1.2 * blur, away);
  line *= clamp(0.35 / max(blur, vec2(1e-6)), 0.0, 1.0) * clamp(1.2 - 2.0 * blur, 0.0, 1.0);
  return max(line.x, line.y);
}

void main() {
  vec3 normal = normalize(v_normal), toEye = u_eye - v_place;
  float far = length(toEye);
  toEye /= far;
  vec3 albedo = pow(u_colour.rgb, vec3(2.2));
  if (u_lines > 0.0) {
    vec3 ink = mix(0.45 * albedo, pow(u_grid, vec3(2.2)), u_themed);
    albedo = mix(albedo, ink, 0.55 * gridLines(v_local.xy, 1.0, 0.012));
    albedo = mix(albedo, ink, 0.16 * gridLines(v_local.xy, 0.25, 0.006));
  }
  float facing = dot(normal, u_sun);
  float direct = max(facing, 0.0) * sunlit(normal), open = openness(normal);
  vec3 ambient = mix(u_groundLight, u_skyLight, 0.5 + 0.5 * normal.z) * open;
  vec3 light = albedo * (ambient + u_sunLight * direct * mix(1.0, open, 0.45));
  if (u_lines == 0.0) {
    vec3 half_way = normalize(toEye + u_sun);
    light += 0.07 * u_sunLight * direct * pow(max(dot(normal, half_way), 0.0), 36.0);
    light += 0.22 * u_skyLight * albedo * pow(1.0 - max(dot(normal, toEye), 0.0), 3.0);
  }
  light = mix(light, 1.25 * albedo, u_glow);
  light = light * (1.0 + light * 0.09) / (1.0 + light * 0.36);
  vec3 shown = pow(light, vec3(1.0 / 2.2));
  float fade = smoothstep(0.35, 1.0, far / u_reach);
  o_colour = vec4(mix(shown, skyColour(-toEye), fade), u_colour.a);
}`;

const DEPTH_ONLY = `#version 300 es
precision mediump float;
void main() {}`;

const SKY_CORNERS = `#version 300 es
uniform mat3 u_rays;
out vec3 v_ray;
void main() {
  vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
  v_ray = u_rays * vec3(corner, 1.0);
  gl_Position = vec4(corner, 1.0, 1.0);
}`;

const SKY = `#version 300 es
precision highp float;
in vec3 v_ray;
out vec4 o_colour;
${SKY_COLOUR}
float noise(vec2 at) { return fract(sin(dot(at, vec2(12.9898, 78.233))) * 43758.5453); }
void main() {
  o_colour = vec4(skyColour(normalize(v_ray)) + (noise(gl_FragCoord.xy) - 0.5) / 255.0, 1.0);
}`;
